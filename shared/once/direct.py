"""The direct lane: a function that keeps its trigger, its event and its answer takes the lock itself.

It writes the record that the state machines write, by their conditions, so each of the lanes knows what the others do.
Whatever goes wrong after the lock a sweep finds, and the full lane calls the same function with a `lock`. Times are
those of DynamoDB's answers, as in `ticket_writes`.
"""

import json
import math
import random
import re
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any, Final, Literal, TypeAlias, TypeVar

from botocore.exceptions import BotoCoreError, ClientError

from once import canonical
from once.clients import client
from once.errors import LockLostError, NeedsAttention, PermanentError
from once.logs import logger
from once.outcome import Disposition, Failure, Outcome, Refused
from once.place import Place, place
from once.ticket_writes import error_value, ref_value, result_value

MARGIN: Final = 60
"""Seconds that a lease lasts longer than the function may: clocks differ."""
WRITES: Final = 8
"""Times that the end of an attempt is sent to the table or the bucket, for about a minute in all."""
SECONDS_OF_A_WRITE: Final = 15
"""A write that is begun with fewer left may be cut off, and the log lines after it."""
Done = TypeVar("Done")
NEW: Final = "attribute_not_exists(id) OR expiresAt < :now"
AGAIN: Final = "#status = :failed AND #owner = :theirs AND fence = :read AND expiresAt >= :now"
Item: TypeAlias = dict[str, Any]
"""As DynamoDB has it, each value under its type."""


@dataclass(frozen=True, slots=True)
class Invocation:
    """An invocation of a function by an event of its own."""

    context: Any
    began: float
    operations: frozenset[str]
    """Those that have an `entry` above its handler: an event of a machine comes to them."""

    @property
    def seconds_left(self) -> float:
        return float(self.context.get_remaining_time_in_millis()) / 1000


_invocations: list[Invocation] = []
"""The one that is handled: a process has one at a time, on Managed Instances, too, and threads of the handler ask for
it. There, "each process handles one request at a time" (Lambda Developer Guide, *Python runtime for Lambda Managed
Instances*)."""


@contextmanager
def invoked(context: Any, needs: float, operations: frozenset[str]) -> Iterator[None]:
    """While a handler runs. Raises RuntimeError for an invocation in which no request can begin."""
    around = _invocations[-1].operations if _invocations else frozenset[str]()
    invocation = Invocation(context, time.time(), operations | around)
    if needs and (left := invocation.seconds_left) < needs:
        raise RuntimeError(
            f"entry(needs={needs:g}), and this invocation began with {left:.3g} seconds: no request can begin in it - "
            "give the function a longer Timeout, or entry a smaller number"
        )
    _invocations.append(invocation)
    try:
        yield
    finally:
        _invocations.pop()


@dataclass(frozen=True, slots=True)
class Asked:
    """A request of the direct lane, and what runs it: a handler for a machine's event, made by `@operation`."""

    handler: Callable[[object, object], Mapping[str, Any]]
    operation: str
    tenant: str
    key: str
    payload: dict[str, Any]
    on_crash: Literal["retry", "quarantine"]
    on_failed: Literal["replay", "retry"]
    needs: float

    @property
    def id(self) -> str:
        return f"{self.tenant}#{self.operation}#{self.key}"


def once(asked: Asked, wait: float) -> Outcome:
    """See `Operation.once`."""
    if not _invocations:
        raise RuntimeError("once() belongs into a handler with @entry above it, which knows the time that is left")
    invocation = _invocations[-1]
    if asked.operation not in invocation.operations:
        raise RuntimeError(f"once() of {asked.operation} belongs into a handler with its entry above it, for recovery")
    try:
        return _once(asked, invocation, wait)
    except Refused as refused:  # a handler may answer, or send it back, and say nothing
        id = asked.id[:400].encode("utf-8", "backslashreplace").decode()
        logger().warning(str(refused), id=id, function_request_id=invocation.context.aws_request_id)
        raise


def _once(asked: Asked, invocation: Invocation, wait: float) -> Outcome:
    asked = replace(asked, payload=canonical.as_json(asked.payload))
    on = asked.on_crash, asked.on_failed
    if reason := canonical.fault(asked.operation, asked.tenant, asked.key, asked.payload, *on):
        raise Refused("InvalidRequest", reason)
    with _before_the_lock():
        where = place(lambda: invocation.seconds_left - asked.needs)
    return _Lane(asked, invocation, where).outcome(wait)


class _Lane:
    def __init__(self, asked: Asked, invocation: Invocation, where: Place) -> None:
        self._asked, self._invocation, self._where = asked, invocation, where
        self._id, self._hash = asked.id, canonical.hash_of(asked.id)
        self._print = canonical.fingerprint(asked.payload)
        context = invocation.context
        self._me = f"direct:{context.function_name}:{context.aws_request_id}:{uuid.uuid4().hex}"
        self._ahead = self._ahead_at_most = 0.0
        """Seconds by which DynamoDB's clock is ahead of this one, at least and at most: an answer takes its time."""

    # ---- A request that finds a record, or none ----

    def outcome(self, wait: float) -> Outcome:
        """Raises Refused before the lock only."""
        with _before_the_lock():
            record = self._read()
        until, pause, seen = time.monotonic() + wait, 0.2, False
        while True:
            found = self._found(record, seen=seen)
            if found in ("NOTHING", "FAILED_BEFORE") and not seen:
                with _before_the_lock():
                    record = self._acquire(record if found == "FAILED_BEFORE" else None)
                if record.get("owner") == {"S": self._me}:
                    return self._run(record)
            elif found == "IN_PROGRESS":
                seen = True
                if time.monotonic() + pause > until or self._invocation.seconds_left < pause + 2:
                    return self._outcome("IN_PROGRESS", record)
                time.sleep(random.uniform(pause / 2, pause))  # noqa: S311 - spreads readers, hides nothing
                record, pause = self._read_again(record), min(pause * 2, 5)
            else:
                return self._told(found, record, seen=seen)

    def _found(self, record: Item, *, seen: bool) -> str:
        if not record or ("expiresAt" in record and int(record["expiresAt"]["N"]) < self._now()):
            return "NOTHING"
        if record["fingerprint"]["S"] != self._print:
            return "OTHER_PAYLOAD"
        status: str = record["status"]["S"]
        if status == "FAILED" and self._asked.on_failed == "retry" and not seen:
            ended = datetime.fromisoformat(record["finishedAt"]["S"]).timestamp()
            return "FAILED_BEFORE" if ended < self._invocation.began + self._ahead else status
        return status

    def _told(self, found: str, record: Item, *, seen: bool, what: Disposition = "REPLAYED") -> Outcome:
        if found == "IN_PROGRESS":
            return self._outcome("IN_PROGRESS", record)
        if found in ("NOTHING", "OTHER_PAYLOAD") and seen:
            lost = Failure("LockLost", "the record has expired, was released or belongs to another request")
            return Outcome(self._id, what, 0, lost)
        if found == "OTHER_PAYLOAD":
            raise Refused(
                "PayloadMismatch",
                "another payload was sent before with this tenant, operation and key - if this is a retry, send the "
                "same body; a new operation needs a new key",
            )
        if found == "COMPLETED":
            ref = {name: each.get("S") or int(each["N"]) for name, each in _members(record, "resultRef").items()}
            return self._outcome(what, record, text=record.get("result", {}).get("S"), ref=ref or None)
        error = _members(record, "error")
        status = int(error["status"]["N"]) if "status" in error else None
        name = "NeedsAttention" if found == "QUARANTINED" else error["name"]["S"]
        return self._outcome(what, record, error=Failure(name, error["message"]["S"], status))

    # ---- The lock ----

    def _acquire(self, failed: Item | None) -> Item:
        """The lock, or the record that is there instead."""
        asked = self._asked
        request: dict[str, Any] = {"operation": asked.operation, "tenant": asked.tenant}
        request |= {"idempotencyKey": asked.key, "payload": asked.payload}
        text = canonical.kept(request)
        value: Item = {"S": text}
        kept, other = "#request", "requestRef"
        if text is None:
            key = f"requests/{asked.tenant}/{asked.operation}/{self._hash}/{self._print}.json"
            body = json.dumps(request, ensure_ascii=False, separators=(",", ":")).encode()
            client("s3").put_object(Bucket=self._where.bucket, Key=key, Body=body, ContentType="application/json")
            kept, other, value = other, kept, {"M": {"bucket": {"S": self._where.bucket}, "key": {"S": key}}}
        if self._invocation.seconds_left < asked.needs:
            raise Refused("Unavailable", f"less than {asked.needs:g} seconds are left of this invocation")
        lease = self._now_at_most() + int(self._invocation.seconds_left) + MARGIN
        again = {":failed": {"S": "FAILED"}, ":theirs": failed["owner"], ":read": failed["fence"]} if failed else {}
        _, there = self._update(
            AGAIN if failed else NEW,
            "SET #status = :open, #owner = :me, fence = if_not_exists(fence, :zero) + :one, attempts = :one, "
            "fingerprint = :fingerprint, onCrash = :crash, acquiredAt = :at, leaseExpiresAt = :lease, "
            f"openShard = :shard, {kept} = :kept "
            f"REMOVE #result, resultRef, #error, {other}, pendingSince, finishedAt, expiresAt"
            + ("" if failed else ", steps"),
            {
                ":open": {"S": "IN_PROGRESS"},
                ":zero": {"N": "0"},
                ":one": {"N": "1"},
                ":fingerprint": {"S": self._print},
                ":crash": {"S": asked.on_crash},
                ":at": self._at(),
                ":now": {"N": str(self._now())},
                ":lease": {"N": str(lease)},
                ":shard": {"S": f"IN_PROGRESS#{self._hash[0]}"},
                ":kept": value,
                **again,
            },
        )
        return there

    # ---- Business logic: from here on the request is Once's responsibility, and nothing is raised ----

    def _run(self, record: Item) -> Outcome:
        is_over = self._now_at_most() >= int(record["leaseExpiresAt"]["N"])  # this sandbox stood still
        if is_over or self._invocation.seconds_left < self._asked.needs:
            return self._release(record, {}, 0)
        try:
            reply = self._asked.handler(self._event(record), self._invocation.context)
            if "oncePending" in reply:
                until = {":until": {"N": str(self._now_at_most() + reply["oncePending"])}, ":since": self._at()}
                update = "SET leaseExpiresAt = :until, pendingSince = :since"
                return self._write(record, "= :open", update, until, "IN_PROGRESS")
            return self._end(record, "COMPLETED", *self._answer(record, reply), "#error, steps, ")
        except LockLostError:
            return self._converge(record)
        except PermanentError as error:
            return self._end(record, "FAILED", "error", error_value(_with_status(error)), "")
        except Exception as error:  # what it did is unknown, so onCrash decides
            if self._asked.on_crash == "quarantine" or isinstance(error, NeedsAttention):
                return self._quarantine(record, error)
            return self._release(record, {"error": error_value(error)}, int(record["attempts"]["N"]))

    def _answer(self, record: Item, reply: Mapping[str, Any]) -> tuple[str, Any]:
        """The attribute for the result, and its value."""
        if "onceResultRef" in reply:
            return "resultRef", ref_value(reply["onceResultRef"])
        text, fence, where = reply["onceResult"], int(record["fence"]["N"]), self._where
        answer = partial(result_value, text, self._id, fence, self._me, where.bucket, where.retention_days)
        return self._insisting(answer)

    def _event(self, record: Item) -> dict[str, Any]:
        """As ExecuteBusinessLogic makes it."""
        asked, where = self._asked, self._where
        return {
            "operation": asked.operation,
            "tenant": asked.tenant,
            "idempotencyKey": asked.key,
            "payload": asked.payload,
            "attempt": int(record["attempts"]["N"]),
            "retentionDays": where.retention_days,
            "responseBucket": where.bucket,
            "replyToken": self._me,
            "lock": {
                "table": where.table,
                "id": self._id,
                "owner": self._me,
                "fence": int(record["fence"]["N"]),
                "leaseExpiresAt": int(record["leaseExpiresAt"]["N"]),
                "ticket": f"{record['acquiredAt']['S']} {self._print} {self._id}",
            },
        }

    def _end(self, record: Item, status: str, field: str, answer: Any, removes: str) -> Outcome:
        """Completed or failed for good. It may be repeated, as botocore does when an answer was lost."""
        update = (
            f"SET #status = :end, #{field} = :answer, finishedAt = :at, expiresAt = :expires "
            f"REMOVE leaseExpiresAt, openShard, {removes}#request, requestRef"
        )
        values = {
            ":end": {"S": status},
            ":answer": answer,
            ":at": self._at(self._ahead_at_most),
            ":expires": {"N": str(self._now_at_most() + self._where.retention_days * 86_400)},
        }
        return self._write(record, "IN (:open, :end)", update, values, "EXECUTED")

    def _quarantine(self, record: Item, error: Exception) -> Outcome:
        update = "SET #status = :end, #error = :error, finishedAt = :at, leaseExpiresAt = :now, openShard = :shard"
        values = {
            ":end": {"S": "QUARANTINED"},
            ":error": error_value(error),
            ":at": self._at(self._ahead_at_most),
            ":now": {"N": str(self._now_at_most())},
            ":shard": {"S": f"QUARANTINED#{self._hash[0]}"},
        }
        return self._write(record, "= :open", update, values, "EXECUTED")

    def _release(self, record: Item, more: Item, attempts: int) -> Outcome:
        """The next sweep starts it in the full lane."""
        sets = {"leaseExpiresAt": {"N": "0"}, "attempts": {"N": str(attempts)}, **more}
        update = "SET " + ", ".join(f"#{name} = :{name}" for name in sets)
        return self._write(record, "= :open", update, {f":{name}": sets[name] for name in sets}, "IN_PROGRESS")

    def _write(self, record: Item, status: str, update: str, values: Item, what: Disposition) -> Outcome:
        """What this invocation has done if the write held, else what is there; nobody knows: it is in progress."""
        mine: Item = {":mine": record["fence"], ":open": {"S": "IN_PROGRESS"}, **values}
        try:
            condition = f"#owner = :me AND fence = :mine AND #status {status}"
            held, there = self._insisting(lambda: self._update(condition, update, mine))
        except (ClientError, BotoCoreError):
            return self._outcome("IN_PROGRESS", record)
        return self._told(self._found(there, seen=True), there, seen=True, what=what if held else "REPLAYED")

    def _insisting(self, act: Callable[[], Done]) -> Done:
        """Tries again what could not be reached, while there is time: what business logic has done is to be written."""
        pause = 0.5
        for _ in range(WRITES - 1):
            try:
                return act()
            except (ClientError, BotoCoreError):
                if self._invocation.seconds_left < pause + SECONDS_OF_A_WRITE:
                    raise
            time.sleep(random.uniform(pause / 2, pause))  # noqa: S311 - spreads writers, hides nothing
            pause = min(pause * 2, 20)
        return act()

    # ---- What is there ----

    def _converge(self, record: Item) -> Outcome:
        """Business logic says that the lock is lost."""
        there = self._read_again(record)
        if (there.get("owner"), there.get("fence")) != (record["owner"], record["fence"]):
            return self._told(self._found(there, seen=True), there, seen=True)
        lost = LockLostError("business logic reported a lost lock that was not lost - what it did is unknown")
        return self._quarantine(record, lost)

    def _read(self) -> Item:
        sent = time.time()
        answer = client("dynamodb").get_item(
            TableName=self._where.table, Key={"id": {"S": self._id}}, ConsistentRead=True
        )
        self._hear(answer, sent)
        found: Item = answer.get("Item", {})
        return found

    def _read_again(self, record: Item) -> Item:
        """As it was read before, where it cannot be read."""
        try:
            return self._read()
        except (ClientError, BotoCoreError):
            return record

    def _update(self, condition: str, update: str, values: Item) -> tuple[bool, Item]:
        """Whether the condition held, and the record that is there."""
        db, used, sent = client("dynamodb"), f"{condition} {update}", time.time()
        answer: Any
        try:
            answer = db.update_item(
                TableName=self._where.table,
                Key={"id": {"S": self._id}},
                ConditionExpression=condition,
                UpdateExpression=update,
                ExpressionAttributeNames={f"#{name}": name for name in re.findall(r"#(\w+)", used)},
                ExpressionAttributeValues={":me": {"S": self._me}, **values},
                ReturnValues="ALL_NEW",
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            )
        except db.exceptions.ConditionalCheckFailedException as refused:
            answer = refused.response
            self._hear(answer, sent)
            return False, answer.get("Item", {})
        self._hear(answer, sent)
        return True, answer["Attributes"]

    def _hear(self, answer: Any, sent: float) -> None:
        if told := answer["ResponseMetadata"]["HTTPHeaders"].get("date"):
            second = parsedate_to_datetime(told).timestamp()
            self._ahead, self._ahead_at_most = second - time.time(), second + 1 - sent

    def _now(self) -> int:
        """DynamoDB's, or a little earlier: nothing has expired or failed before too early."""
        return int(time.time() + self._ahead)

    def _now_at_most(self) -> int:
        """DynamoDB's, or a little later: no lease is over later than it seems, and none is shorter."""
        return math.ceil(time.time() + self._ahead_at_most)

    def _at(self, ahead: float | None = None) -> dict[str, str]:
        at = datetime.fromtimestamp(time.time() + (self._ahead if ahead is None else ahead), UTC)
        return {"S": at.isoformat(timespec="milliseconds").replace("+00:00", "Z")}

    def _outcome(self, what: Disposition, record: Item, **more: Any) -> Outcome:
        return Outcome(self._id, what, int(record["attempts"]["N"]), **more)


@contextmanager
def _before_the_lock() -> Iterator[None]:
    """What fails here is told to the sender: whether it has begun is unknown, and to send it again is safe."""
    try:
        yield
    except (ClientError, BotoCoreError) as error:
        reason = f"table, bucket or parameter could not be reached: {error}"
        raise Refused("Unavailable", reason, is_for_senders=False) from error


def _members(record: Item, name: str) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = record.get(name, {}).get("M", {})
    return found


def _with_status(error: PermanentError) -> PermanentError:
    """As the state machine reads what the handler raises: the status stands before the message."""
    found = re.match(r"\[(4[0-9][0-9])\] ", str(error))
    return PermanentError(str(error)[found.end() :], status=int(found[1])) if found else error
