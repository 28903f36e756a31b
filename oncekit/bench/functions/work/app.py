"""The operation that `make bench` measures: its result has as many bytes as the payload asks for, or comes later."""

from __future__ import annotations

from once import JSON, Pending, PermanentError, Request, operation

_FRAME = len('{"text":""}')


@operation()
def handler(request: Request) -> JSON | Pending:
    if "pending" in request.payload:
        return request.pending(int(request.payload["pending"]))
    size = int(request.payload["bytes"])
    if size < _FRAME:
        raise PermanentError("too small")
    return {"text": "x" * (size - _FRAME)}
