"""Business logic that knows nothing of Once: it takes an event and returns a value."""

from __future__ import annotations

import json
from typing import Any


def handler(event: dict[str, Any], _context: object) -> Any:
    payload = event["payload"]
    if payload.keys() == {"bytes"}:
        return "x" * payload["bytes"]
    if payload.keys() == {"json"}:  # numbers that no payload can have
        return json.loads(payload["json"])
    return payload.get("return", payload)
