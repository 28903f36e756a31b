"""Business logic that starts work elsewhere under the first lock, and does it itself under a later one."""

from __future__ import annotations

from typing import Any


def handler(event: dict[str, Any], _context: object) -> dict[str, Any]:
    if event["lock"]["fence"] == 1:
        return {"replyToken": event["replyToken"], "oncePending": 600}
    return {"done": True}
