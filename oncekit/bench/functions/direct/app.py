"""A function of the direct lane that `make bench` measures: its own event has as many requests as a batch."""

from __future__ import annotations

from typing import Any

from once import JSON, Request, operation

_FRAME = len('{"text":""}')


@operation(name="bench-direct")
def work(request: Request) -> JSON:
    if request.attempt <= int(request.payload.get("fails", 0)):
        raise OSError("as the bench says")
    return {"text": "x" * (int(request.payload["bytes"]) - _FRAME)}


@work.entry
def handler(event: list[dict[str, Any]], _context: object) -> list[str]:
    return [work.once(each["payload"], key=each["idempotencyKey"]).disposition for each in event]
