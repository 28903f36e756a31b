"""Business logic that knows nothing of Once: it takes an event and returns a value."""

from __future__ import annotations

from typing import Any


def handler(event: dict[str, Any], _context: object) -> Any:
    payload = event["payload"]
    if payload.keys() == {"bytes"}:
        return "x" * payload["bytes"]
    return payload.get("return", payload)
