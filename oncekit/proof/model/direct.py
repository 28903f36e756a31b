"""The direct lane as one more program of the model: `once` of the library itself, from one call to the next.

It is asked as a machine is. Its variables are the answers that it has had; to go on it is run again from its beginning
with those, up to the call that has no answer yet, so nothing of the library is written down a second time. It waits for
nobody, and has too little time left to insist on a write.
"""

from __future__ import annotations

import functools
import json
import uuid
from collections.abc import Iterator, Mapping
from datetime import datetime
from email.utils import formatdate
from types import SimpleNamespace
from typing import Any

from botocore.exceptions import ConnectionClosedError
from once import canonical, direct
from once.errors import LockLostError, NeedsAttention, PermanentError
from once.outcome import Outcome, Refused
from once.place import Place

from oncekit.local.patching import replaced
from oncekit.proof.model.machine import NOW, At, End, Next
from oncekit.proof.model.promises import Broken
from oncekit.proof.model.record import as_json, parsed

BUSINESS, REFUSES = "ExecuteBusinessLogic", "RefuseRequest"
UNAVAILABLE = "Unavailable"
"""An end of which its sender does not hear what came of it."""
SECONDS_LEFT = 10
REFUSED = "DynamoDB.ConditionalCheckFailedException"
OVER = NOW - 1000
"""The end of a lease that is over."""
_DATED = {"ResponseMetadata": {"HTTPHeaders": {"date": formatdate(NOW, usegmt=True)}}}
_ENDS = {"COMPLETED": "Finalize", "FAILED": "RecordFailure", "QUARANTINED": "RecordQuarantine"}
_RAISED = {each.__name__: each for each in (PermanentError, NeedsAttention, LockLostError)}


class _Asks(BaseException):
    """A call that has no answer yet. Not an Exception, since no code may handle it."""

    def __init__(self, position: str, arguments: Any) -> None:
        super().__init__()
        self.position, self.arguments = position, arguments


class _ConditionFailed(Exception):
    def __init__(self, response: Any) -> None:
        super().__init__()
        self.response = response


class _Client:
    """DynamoDB, S3 and business logic, which answer what they have answered. A position is that of a machine."""

    class exceptions:  # noqa: N801  as boto3 calls it
        ConditionalCheckFailedException = _ConditionFailed

    def __init__(self, answers: Iterator[Any], edits: Mapping[str, tuple[str, str]]) -> None:
        self._answers, self._edits = answers, edits

    def _asked(self, position: str, arguments: Any) -> Any:
        answer = next(self._answers, None)
        if answer is None:
            call = as_json(arguments)
            old, new = self._edits.get(position, ("", ""))
            assert old in call, f"no {old!r} in {call}"
            raise _Asks(position, parsed(call.replace(old, new)) if old else arguments)
        if "failed" not in answer:
            return {**answer, **_DATED}
        if position == BUSINESS:
            raise _RAISED.get(answer["failed"], RuntimeError)("as the model says")
        if answer["failed"] == REFUSED:
            raise _ConditionFailed({**answer, **_DATED})
        raise ConnectionClosedError(endpoint_url="the model")

    def get_item(self, **arguments: Any) -> Any:
        return self._asked("ReadRecord", arguments)

    def put_object(self, **arguments: Any) -> Any:
        return self._asked("KeepRequest", {**arguments, "Body": json.loads(arguments["Body"])})

    def update_item(self, **arguments: Any) -> Any:
        values = arguments["ExpressionAttributeValues"]
        kinds = {":kept": "AcquireLock", ":until": "KeepOpen", ":leaseExpiresAt": "ReleaseLock"}
        others = (kinds[name] for name in values if name in kinds)
        return self._asked(_ENDS[values[":end"]["S"]] if ":end" in values else next(others), arguments)

    def handle(self, event: Any, _context: object) -> Any:
        return self._asked(BUSINESS, {"Payload": event})["Payload"]


class Library:
    """Has the interface of a `Machine`."""

    def __init__(self, table: str, inline_bytes: int, edits: Mapping[str, tuple[str, str]]) -> None:
        """`edits` are texts of calls by position, each with what it is in a mutant."""
        self._table, self._inline_bytes, self._edits = table, inline_bytes, edits
        self._next = functools.lru_cache(100_000)(self._next_of)

    def resource(self, position: str) -> str:
        known = {"ReadRecord": "dynamodb:getItem", BUSINESS: "lambda:invoke"}
        is_object = position in ("KeepRequest", REFUSES)
        return known.get(position, "s3:putObject" if is_object else "dynamodb:updateItem")

    def retries(self, position: str, _error: str) -> int:
        """A client does, and business logic is not a call."""
        return int(position not in (BUSINESS, REFUSES))

    def catches(self, position: str, error: str) -> bool:
        return bool(self.retries(position, error))

    def enter(self, me: str, given: str) -> Next:
        return self._next("[]", me, given)[0]

    def call(self, _position: str, variables: str, me: str, given: str) -> str:
        return self._next(variables, me, given)[1]

    def succeed(self, position: str, variables: str, me: str, given: str, result: str) -> Next:
        if position == REFUSES:
            return End("RequestRefused")
        return self._next(as_json([*parsed(variables), parsed(result)]), me, given)[0]

    def fail(self, _position: str, variables: str, me: str, given: str, error: str, cause: str) -> Next:
        failed = {"failed": error} | (parsed(cause) if error == REFUSED else {})
        return self._next(as_json([*parsed(variables), failed]), me, given)[0]

    def late(self, variables: str, me: str, given: str) -> Next:
        """A sandbox has stood still since it got its lock: what it was told of its lease is an earlier one."""
        *before, acquired = parsed(variables)
        [kind] = {"Attributes", "Item"} & set(acquired)
        told = acquired | {kind: acquired[kind] | {"leaseExpiresAt": {"N": str(OVER)}}}
        return self._next(as_json([*before, told]), me, given)[0]

    def _next_of(self, variables: str, me: str, given: str) -> tuple[Next, str]:
        """What comes after these answers; of a call its arguments, too."""
        asked, (id, _, start, run) = parsed(given), me.split(" ")
        client = _Client(iter(parsed(variables)), self._edits)
        _, function, request_id = id.split(":")
        left = SimpleNamespace(
            function_name=function, aws_request_id=request_id, get_remaining_time_in_millis=lambda: SECONDS_LEFT * 1000
        )
        began = direct.Invocation(left, datetime.fromisoformat(start).timestamp(), frozenset({"charge"}))
        on = asked.get("onCrash", "retry"), asked.get("onFailed", "replay")
        request = direct.Asked(client.handle, "charge", "default", asked["idempotencyKey"], asked["payload"], *on, 0)
        with replaced(
            (direct, "client", lambda _: client),
            (direct, "time", SimpleNamespace(time=lambda: NOW, monotonic=lambda: NOW)),
            (direct, "uuid", SimpleNamespace(uuid4=lambda: uuid.UUID(int=int(run), version=4))),
            (direct, "place", lambda _: Place(self._table, "bucket", 30)),
            (direct, "_invocations", [began]),
            (direct, "error_value", _error),
            (canonical, "INLINE_BYTES", self._inline_bytes),
        ):
            try:
                return _end(direct.once(request, 0)), ""
            except _Asks as asks:
                return At(asks.position, variables), as_json(asks.arguments)
            except Refused as refused:
                if refused.name == UNAVAILABLE:
                    return End(UNAVAILABLE), ""
                return At(REFUSES, variables), "{}"
            except Exception as error:
                raise Broken(f"P5: once() raised {error!r}, of which its sender knows nothing") from error


def _error(error: Exception) -> dict[str, Any]:
    """Which one it was makes no difference once it is written, but for one."""
    name = type(error).__name__ if isinstance(error, LockLostError) else "AnError"
    return {"M": {"name": {"S": name}, "message": {"S": ""}}}


def _end(outcome: Outcome) -> End:
    """As a machine ends that tells the same."""
    if outcome.disposition == "IN_PROGRESS":
        return End("AcknowledgeDuplicate")
    if outcome.error is not None:
        name = outcome.error.name
        return End(name if name in ("NeedsAttention", "LockLost") else "OperationFailed")
    state = "Finalize" if outcome.disposition == "EXECUTED" else "ReturnStoredResponse"
    return End(state, None, {"result": outcome.text})
