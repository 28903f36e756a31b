"""The operation that `make bench` measures: its result has as many bytes as the payload asks for."""

from once import JSON, PermanentError, Request, operation

_FRAME = len('{"text":""}')


@operation()
def handler(request: Request) -> JSON:
    size = int(request.payload["bytes"])
    if size < _FRAME:
        raise PermanentError("too small")
    return {"text": "x" * (size - _FRAME)}
