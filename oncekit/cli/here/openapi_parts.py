"""What the OpenAPI document says beside the paths and statuses, which it has from the template."""

from __future__ import annotations

from typing import Any

Part = dict[str, Any]

DESCRIPTION = "Runs operations effectively once: the same request again gets the same answer. See docs/http.md."
_NAME = {"type": "string", "pattern": "^[a-z][a-z0-9-]{0,39}$"}
SCHEMAS: dict[str, Part] = {
    "operation": _NAME,
    "tenant": _NAME,
    "key": {"type": "string", "minLength": 1},
    "days": {"type": "string", "pattern": "^[0-9]{1,3}d$"},
    "hash": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
    "object": {"type": "string", "pattern": "^[0-9]{1,19}-[0-9a-f]{16}[.]json$"},
    "Idempotency-Key": {"type": "string", "minLength": 1, "maxLength": 514, "pattern": "^[ -~]+$"},
    "Prefer": {"type": "string"},
    "Once-On-Conflict": {"enum": ["acknowledge", "reject", "wait"]},
    "Once-On-Crash": {"enum": ["retry", "quarantine"]},
    "Once-On-Failed": {"enum": ["replay", "retry"]},
}
"""What the values of a parameter may be, by its name."""


def _header(description: str, **schema: Any) -> Part:
    return {"description": description, "schema": {"type": "string", **schema}}


_ID = _header("The id of the record, percent-encoded, except #.")
_LOCATION = _header("Relative to the path of the request.")
_RETRY = _header("Seconds after which to send the same request again.", pattern="^[0-9]+$")
_REPLAYED = _header("Present if this is the stored answer.", enum=["true"])
_ATTEMPT = _header("How often business logic has been started for this id.", pattern="^[0-9]+$")
PROBLEM: Part = {
    "headers": {"Retry-After": _RETRY},
    "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
}
"""The form of every error."""
RESPONSES: dict[str, Part] = {
    "200": {
        "headers": {"Once-Id": _ID, "Once-Attempt": _ATTEMPT, "Idempotent-Replayed": _REPLAYED},
        "content": {"application/json": {"schema": {"description": "What business logic returned: any JSON."}}},
    },
    "202": {
        "headers": {"Once-Id": _ID, "Location": _LOCATION, "Retry-After": _RETRY},
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/InProgress"}}},
    },
    "204": {},
    "303": {
        "headers": {
            "Once-Id": _ID,
            "Location": _LOCATION,
            "Once-Attempt": _ATTEMPT,
            "Idempotent-Replayed": _REPLAYED,
        },
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/LargeResult"}}},
    },
}
COMPONENTS: Part = {
    "schemas": {
        "Problem": {
            "description": "RFC 9457. API Gateway's own refusals have a type, a title and a detail only.",
            "type": "object",
            "required": ["type", "title"],
            "properties": {
                "type": {"type": "string"},
                "title": {"type": "string"},
                "status": {"type": "integer", "minimum": 400, "maximum": 599},
                "detail": {"type": "string"},
                "error": {
                    "type": "string",
                    "description": "The name of the error, of an operation that failed for good.",
                },
                "id": {"type": "string", "description": "tenant#operation#idempotencyKey"},
            },
        },
        "InProgress": {
            "type": "object",
            "required": ["status", "id"],
            "properties": {"status": {"const": "IN_PROGRESS"}, "id": {"type": "string"}},
        },
        "LargeResult": {
            "type": "object",
            "required": ["bytes", "sha256"],
            "properties": {"bytes": {"type": "integer"}, "sha256": {"type": "string", "pattern": "^[0-9a-f]{64}$"}},
        },
    },
    "securitySchemes": {
        "iam": {
            "type": "apiKey",
            "name": "Authorization",
            "in": "header",
            "description": "AWS Signature Version 4 for execute-api.",
        },
        "userPool": {
            "type": "apiKey",
            "name": "Authorization",
            "in": "header",
            "description": "An ID token of the Cognito user pool in HttpUserPoolArn.",
        },
    },
}
