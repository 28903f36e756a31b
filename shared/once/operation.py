"""The decorator that makes a plain function the function of an operation."""

from collections.abc import Callable, Mapping
from functools import partial, update_wrapper, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from once.errors import InvalidEventError, as_caught
from once.request import Request
from once.result import JSON, Envelope, Pending, envelope, pending_envelope, reference, serialise
from once.result_store import ResultStore
from once.telemetry import observed
from once.validation import PayloadSchema

if TYPE_CHECKING:
    from once.outcome import Outcome

BusinessLogic: TypeAlias = "Callable[[Request], JSON | Pending]"
Handler: TypeAlias = Callable[..., Any]


class Operation:
    """A Lambda handler `(event, context)` for the events of the state machines, made of business logic."""

    __wrapped__: BusinessLogic

    def __init__(self, logic: BusinessLogic, name: str, schema: PayloadSchema | None) -> None:
        update_wrapper(self, logic)
        self.name, self._schema = name, schema
        self._needs = 0.0

    def __call__(self, event: object, context: object = None) -> Envelope:
        """Runs the logic of one attempt; see `operation`."""
        request = Request.from_event(event)
        with observed(request, getattr(context, "aws_request_id", None)) as observation:
            try:
                if self._schema:
                    self._schema.check(request.payload)
                result = self.__wrapped__(request)
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

    def once(
        self,
        payload: dict[str, Any],
        *,
        key: str,
        tenant: str = "default",
        wait: float = 0,
        on_crash: Literal["retry", "quarantine"] = "retry",
        on_failed: Literal["replay", "retry"] = "replay",
    ) -> "Outcome":
        """Runs the operation here, once for this key: the direct lane, in a handler with `entry` above it.

        **If this returns, the request is Once's responsibility; if it raises, its sender sends it again with the same
        key**, since it is unknown whether it has begun. It raises `once.Refused` before the lock only: for what is no
        request, for another payload under the key, or if table or bucket could not be reached.

        After the lock it returns. Where business logic fails so that it may pass, a sweep starts it again within two
        minutes, in the full lane: the Outcome is IN_PROGRESS. `wait` (seconds): how long to wait for another owner.
        """
        from once.direct import Asked, once

        return once(Asked(self, self.name, tenant, key, payload, on_crash, on_failed, self._needs), wait)

    def entry(self, handler: Handler | None = None, *, needs: float = 0) -> Handler:
        """Decorates the Lambda handler of a function that calls `once`.

        Events of the state machines, which finish what this function has left, go to the operation; every other event
        is the handler's. With `needs=seconds`, which is below the function's Timeout, `once` raises before the lock if
        less is left of the invocation. Two operations in one function: one decorator above the other.
        """
        if handler is None:
            return partial(self.entry, needs=needs)
        # Here, not on the first request: Lambda gives more CPU during the start.
        from once.direct import invoked

        self._needs = needs
        below: frozenset[str] = getattr(handler, "once_operations", frozenset())
        operations = below | {self.name}

        @wraps(handler)
        def entered(event: Any, context: Any = None) -> Any:
            if not (isinstance(event, Mapping) and isinstance(event.get("lock"), dict) and "replyToken" in event):
                with invoked(context, needs, operations):
                    return handler(event, context)
            with invoked(context, 0, operations):
                if event.get("operation") == self.name:
                    return self(event, context)
                if not below:  # the handler would answer for an operation that it never ran
                    raise InvalidEventError(
                        f"the event is of operation {event.get('operation')!r}; this function has {self.name!r}: give "
                        "it that name, @operation(name=...)"
                    )
                return handler(event, context)

        entered.once_operations = operations  # type: ignore[attr-defined]
        return entered


def operation(*, schema: Path | None = None, name: str | None = None) -> Callable[[BusinessLogic], Operation]:
    """Turns `logic(request) -> JSON` into a Lambda handler `(event, context)`.

    The handler reads the event, checks the payload against the schema (a file with JSON Schema, draft-07), runs the
    logic, and returns its result as exact text, or, if it is large, a reference to it in the response bucket. Logic
    whose work goes on elsewhere returns `request.pending(seconds)` instead.
    The errors that it raises have the class names that the state machine catches. `handler.__wrapped__` is the plain
    function. `name` is the operation's for `once`: by default the function's, with hyphens.
    """
    # Here, not on the first request: a broken schema must fail at once, and Lambda gives more CPU during the start.
    payload_schema = PayloadSchema.read(schema) if schema else None

    def decorate(logic: BusinessLogic) -> Operation:
        return Operation(logic, name or logic.__name__.replace("_", "-"), payload_schema)

    return decorate


def _offloaded(request: Request, text: str) -> Envelope:
    lock = request.lock
    return reference(
        ResultStore.deployed(request.response_bucket, request.retention_days).put(
            id=lock.id, fence=lock.fence, owner=lock.owner, text=text
        ),
        request.reply_token,
    )
