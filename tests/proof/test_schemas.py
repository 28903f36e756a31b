"""The templates as CloudFormation gets them, held against AWS's schemas by cfn-lint, in both partitions.

A test of the proof: cfn-lint alone takes as long as a hundred other tests.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from template_parts import PARTS, TEMPLATE, resolver

from oncekit.local.templates.intrinsics import Resolver
from oncekit.local.templates.template import load, parse

REGIONS = ["us-east-1", "cn-north-1"]
KEY = "arn:aws:kms:us-east-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"
POOL = "arn:aws:cognito-idp:us-east-1:123456789012:userpool/us-east-1_pool"
LEAST = {"Examples": "no", "EventBusName": "none", "QueueTrigger": "false", "HttpTrigger": "false"}
MOST = {"Stage": "prod", "Lane": "fast", "Rollout": "Canary", "HttpAccessLog": "true", "AlarmEmail": "a@b.example",
        "HttpCorsOrigin": "https://a.example", "EventSource": "shop", "ExecutionLog": "ALL",
        "Operations": "pay=pay:live,refund=refund", "EncryptionKeyArn": KEY, "HttpUserPoolArn": POOL}  # fmt: skip


def _decided(node: Any, known: Resolver) -> Any:
    """With one of two values in place of each Fn::If, which cfn-lint would look at both of."""
    if isinstance(node, list):
        return [_decided(each, known) for each in node]
    if isinstance(node, dict) and "Fn::If" in node:
        condition, yes, no = node["Fn::If"]
        return _decided(yes if known.holds(condition) else no, known)
    return {name: _decided(each, known) for name, each in node.items()} if isinstance(node, dict) else node


@pytest.mark.parametrize("given", [{}, LEAST, MOST], ids=["default", "least", "most"])
def test_cloudformation_takes_what_sam_makes_of_each_template(given: dict[str, str]) -> None:
    from cfnlint.api import ManualArgs, lint

    values = load(TEMPLATE, given).parameters
    for file in (TEMPLATE, *PARTS):
        declared = parse(file.read_text(), file)["Parameters"]
        here = {name: values.get(name, "on" if each["Type"] == "String" else "1") for name, each in declared.items()}
        template = load(file, here)
        body: dict[str, Any] = json.loads(json.dumps(template.body))
        for name, each in body["Parameters"].items():
            each["Default"] = int(here[name]) if each["Type"] == "Number" else here[name]
        body["Resources"] = _decided(body["Resources"], resolver(template))
        found = lint(json.dumps(body), config=ManualArgs(regions=REGIONS))
        # Its warnings are of what packaging changes, and of conditions that are decided here.
        assert [f"{each.rule.id} {each.path}: {each.message}" for each in found if each.rule.id.startswith("E")] == []
