"""Policies that AWS manages, by name: those that SAM gives to functions, and all others from moto's copy."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from typing import Any

_LOGS = ["logs:CreateLogGroup", "logs:CreateLogStream", "logs:PutLogEvents"]
_TRACES = [
    "xray:PutTraceSegments",
    "xray:PutTelemetryRecords",
    "xray:GetSamplingRules",
    "xray:GetSamplingTargets",
    "xray:GetSamplingStatisticSummaries",
]


def _allowing(actions: list[str]) -> Mapping[str, Any]:
    return {"Statement": [{"Effect": "Allow", "Action": actions, "Resource": "*"}]}


# Here, since moto's copy takes a third of a second to read, and every role that SAM makes has these.
_OF_SAM = {
    "AWSLambdaBasicExecutionRole": _allowing(_LOGS),
    "AWSXRayDaemonWriteAccess": _allowing(_TRACES),
    "AWSXrayWriteOnlyAccess": _allowing(_TRACES),
}


def managed_policy(name: str) -> Mapping[str, Any] | None:
    """The document of a policy by its name, None when AWS has none of that name."""
    return _OF_SAM.get(name) or _known_to_moto().get(name, {}).get("Document")


@functools.cache
def _known_to_moto() -> Mapping[str, Any]:
    from moto.iam.aws_managed_policies import aws_managed_policies_data

    policies: Mapping[str, Any] = json.loads(aws_managed_policies_data)
    return policies
