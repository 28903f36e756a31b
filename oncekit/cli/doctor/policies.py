"""Resource policies: whether they refuse what does not come over TLS."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def refuses_plain_http(policy: str) -> bool:
    """Whether a policy (JSON) denies everything to everyone who comes without TLS."""
    statements = json.loads(policy).get("Statement", []) if policy else []
    return any(map(_denies_plain_http, [statements] if isinstance(statements, dict) else statements))


def _denies_plain_http(statement: Mapping[str, Any]) -> bool:
    secure = statement.get("Condition", {}).get("Bool", {}).get("aws:SecureTransport")
    return (
        statement.get("Effect") == "Deny"
        and statement.get("Principal") in ("*", {"AWS": "*"}, {"AWS": ["*"]})
        and any(str(each).lower() in ("*", "s3:*", "sqs:*") for each in _as_list(statement.get("Action")))
        and [str(each).lower() for each in _as_list(secure)] == ["false"]
    )


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
