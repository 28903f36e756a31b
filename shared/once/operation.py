"""The decorator that makes a plain function the function of an operation."""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TypeAlias

from once.errors import as_caught
from once.request import Request
from once.result import JSON, Envelope, Pending, envelope, pending_envelope, reference, serialise
from once.result_store import ResultStore
from once.telemetry import observed
from once.validation import PayloadSchema

BusinessLogic: TypeAlias = "Callable[[Request], JSON | Pending]"
Handler: TypeAlias = Callable[..., Envelope]


def operation(*, schema: Path | None = None) -> Callable[[BusinessLogic], Handler]:
    """Turns `logic(request) -> JSON` into a Lambda handler `(event, context)`.

    The handler reads the event, checks the payload against the schema (a file with JSON Schema, draft-07), runs the
    logic, and returns its result as exact text, or, if it is large, a reference to it in the response bucket. Logic
    whose work goes on elsewhere returns `request.pending(seconds)` instead.
    The errors that it raises have the class names that the state machine catches. `handler.__wrapped__` is the plain
    function.
    """
    # Here, not on the first request: a broken schema must fail at once, and Lambda gives more CPU during the start.
    payload_schema = PayloadSchema.read(schema) if schema else None

    def decorate(logic: BusinessLogic) -> Handler:
        @wraps(logic)
        def handler(event: object, context: object = None) -> Envelope:
            request = Request.from_event(event)
            with observed(request, getattr(context, "aws_request_id", None)) as observation:
                try:
                    if payload_schema:
                        payload_schema.check(request.payload)
                    result = logic(request)
                    if isinstance(result, Pending):
                        observation.pending()
                        return pending_envelope(result, request.reply_token)
                    text = serialise(result)
                    reply = envelope(text, request.reply_token) or _offloaded(request, text)
                except Exception as error:
                    caught = as_caught(error)
                    observation.failed(error, caught)
                    if caught is error:
                        raise
                    raise caught from error
                observation.executed(len(text), offloaded="onceResultRef" in reply)
                return reply

        return handler

    return decorate


def _offloaded(request: Request, text: str) -> Envelope:
    lock = request.lock
    return reference(
        ResultStore.deployed(request.response_bucket, request.retention_days).put(
            id=lock.id, fence=lock.fence, owner=lock.owner, text=text
        ),
        request.reply_token,
    )
