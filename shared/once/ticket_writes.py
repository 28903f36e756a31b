"""What a ticket writes: the end of an operation whose work goes on elsewhere, or a longer lease for it.

An end is written as the state machine writes it, but under the next fence and an owner of its own, `ticket:<nonce>`: so
an attempt that is under way loses the lock, and finds this end. It holds whether the operation is pending or not: the
work may be done before its function has returned, or after its time was up. The first end wins.

A call can be repeated. botocore repeats it when an answer was lost; then the record has the nonce of this call.
"""

import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from once.canonical import is_small, size_of
from once.clients import client
from once.errors import PermanentError, TicketError
from once.result import JSON, json_text
from once.result_store import ResultRef, ResultStore
from once.ticket import DAY, Ticket

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef

ERROR_BYTES: Final = 530
"""Of an error's name and message together; as the state machine counts, 4 for what is not printable ASCII."""
OF_THIS_TRY: Final = "fingerprint = :fingerprint AND acquiredAt = :since"

OPEN: Final = ("IN_PROGRESS", "QUARANTINED")

Answer: TypeAlias = "Callable[[int, str], tuple[str, AttributeValueTypeDef]]"
"""The attribute of an end that is written under this fence and by this owner, and its value."""


@dataclass(frozen=True, slots=True)
class TicketState:
    """What the record says now, after a call with its ticket."""

    status: str
    """IN_PROGRESS, QUARANTINED, COMPLETED or FAILED."""
    changed: bool
    """Whether this call did it. False: it had ended before; for `extend`: the lease is as it was."""
    lease_expires_at: int | None = None
    """Until when an open operation is kept open; epoch seconds. 0: it will be started again. None: it has ended."""


def complete(ticket: str, result: JSON) -> TicketState:
    """Ends the operation with this result, which every duplicate gets from now on. The first end wins.

    So a worker that is not sure may say it again, and is told what is there. It also ends an operation whose time was
    up, which is started again or quarantined then. Raises TicketError when there is no such try any more, ValueError
    for a result that is not JSON, and botocore's errors when DynamoDB or S3 cannot be reached: call it again.
    """
    of, text = Ticket.read(ticket), json_text(result)
    return _end(of, "COMPLETED", lambda fence, owner: result_value(text, of.id, fence, owner, of.bucket, of.days))


def fail(ticket: str, message: str, *, status: int | None = None) -> TicketState:
    """Ends the operation as a PermanentError with this message and status does: every duplicate gets the error.

    `message` is read by senders, at most 500 characters of it. `status` is what senders by HTTP get, 400 to 499;
    without one, or with any other number, 422. Raises what `complete` raises.
    """
    error = error_value(PermanentError(message, status=status))
    return _end(Ticket.read(ticket), "FAILED", lambda fence, owner: ("error", error))


def extend(ticket: str, seconds: int) -> TicketState:
    """Keeps the operation open for this number of seconds from now on, at least: a heartbeat.

    At most 90 days at a time, and 150 days after the try began. It never shortens: a lease that lasts longer stays, and
    `changed` is False. The same while business logic still runs, whose lease is its own: say it again later. Nor does
    it revive: of an operation that has ended, or is quarantined, the status is told.
    Raises InvalidWriteError for another number, TicketError, and botocore's errors: call it again.
    """
    of, dynamodb = Ticket.read(ticket), client("dynamodb")
    until = of.until(seconds, _read(of, dynamodb).at)
    try:
        dynamodb.update_item(
            TableName=of.table,
            Key={"id": {"S": of.id}},
            # While nobody works: the lease of an attempt is its own, and one that was released ends at once.
            ConditionExpression=f"#status = :inProgress AND {OF_THIS_TRY} "
            "AND attribute_exists(pendingSince) AND leaseExpiresAt < :until",
            UpdateExpression="SET leaseExpiresAt = :until",
            ExpressionAttributeNames={"#status": "status"},
            ExpressionAttributeValues={
                ":inProgress": {"S": "IN_PROGRESS"},
                ":fingerprint": {"S": of.fingerprint},
                ":since": {"S": of.acquired_at},
                ":until": {"N": str(until)},
            },
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )
    except dynamodb.exceptions.ConditionalCheckFailedException as error:
        there = Seen.of(of, error.response)
        # As it was asked for: the answer to the first send of this call was lost.
        return TicketState(there.status, there.lease_expires_at == until, there.lease_expires_at)
    return TicketState("IN_PROGRESS", changed=True, lease_expires_at=until)


def _end(of: Ticket, status: str, answer: Answer) -> TicketState:
    dynamodb = client("dynamodb")
    owner = f"ticket:{uuid.uuid4().hex}"
    seen = _read(of, dynamodb)
    # Again only if an attempt has taken the next fence meanwhile; those are counted.
    while seen.status in OPEN:
        field, value = answer(seen.fence + 1, owner)
        try:
            dynamodb.update_item(
                TableName=of.table,
                Key={"id": {"S": of.id}},
                ConditionExpression=f"#status IN (:inProgress, :quarantined) AND {OF_THIS_TRY} AND fence = :read",
                UpdateExpression="SET #status = :ended, #owner = :me, fence = :next, #answer = :answer, "
                "finishedAt = :at, expiresAt = :expiresAt "
                "REMOVE leaseExpiresAt, openShard, pendingSince, #request, requestRef"
                + (", #error, steps" if status == "COMPLETED" else ""),
                ExpressionAttributeNames={
                    "#status": "status",
                    "#owner": "owner",
                    "#answer": field,
                    "#request": "request",
                    **({"#error": "error"} if status == "COMPLETED" else {}),
                },
                ExpressionAttributeValues={
                    ":inProgress": {"S": "IN_PROGRESS"},
                    ":quarantined": {"S": "QUARANTINED"},
                    ":fingerprint": {"S": of.fingerprint},
                    ":since": {"S": of.acquired_at},
                    ":read": {"N": str(seen.fence)},
                    ":ended": {"S": status},
                    ":me": {"S": owner},
                    ":next": {"N": str(seen.fence + 1)},
                    ":answer": value,
                    # The end of that second, so that nobody who asked before it tries it again as an older failure.
                    ":at": {"S": f"{datetime.fromtimestamp(seen.at, UTC):%Y-%m-%dT%H:%M:%S}.999Z"},
                    ":expiresAt": {"N": str(seen.at + of.days * DAY)},
                },
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            )
        except dynamodb.exceptions.ConditionalCheckFailedException as error:
            seen = Seen.of(of, error.response)
        else:
            return TicketState(status, changed=True)
    return TicketState(seen.status, changed=seen.owner == owner)


@dataclass(frozen=True, slots=True)
class Seen:
    """What the record said of this try, and when."""

    status: str
    owner: str
    fence: int
    lease_expires_at: int | None
    at: int
    """By the clock of DynamoDB, which is nearer to the state machine's than that of any worker; epoch seconds.

    Of a server with a clock, every answer has the header, refusals included (RFC 9110, section 6.6.1).
    """

    @classmethod
    def of(cls, ticket: Ticket, answer: Mapping[str, Any]) -> "Seen":
        """Raises TicketError for the record of another try, and for none."""
        told = answer["ResponseMetadata"]["HTTPHeaders"].get("date")
        at = int(parsedate_to_datetime(told).timestamp() if told else time.time())
        record: Mapping[str, Any] = answer.get("Item", {})
        numbers = {name: int(value["N"]) for name, value in record.items() if "N" in value}
        of_try = {"fingerprint": {"S": ticket.fingerprint}, "acquiredAt": {"S": ticket.acquired_at}}
        if not of_try.items() <= record.items() or numbers.get("expiresAt", at) < at:
            raise TicketError(
                f"{ticket.id}: the try that began at {ticket.acquired_at} is over, was released by an operator, or "
                "never was; nothing was written"
            )
        return cls(record["status"]["S"], record["owner"]["S"], numbers["fence"], numbers.get("leaseExpiresAt"), at)


def _read(of: Ticket, dynamodb: "DynamoDBClient") -> Seen:
    answer = dynamodb.get_item(TableName=of.table, Key={"id": {"S": of.id}}, ConsistentRead=True)
    return Seen.of(of, answer)


def result_value(
    text: str, id: str, fence: int, owner: str, bucket: str, days: int
) -> "tuple[str, AttributeValueTypeDef]":
    """The result as the state machine keeps it: in the record if it is small, else in the response bucket."""
    if is_small(len(text), id.split("#", 2)[2]):
        return "result", {"S": text}
    return "resultRef", ref_value(ResultStore.deployed(bucket, days).put(id=id, fence=fence, owner=owner, text=text))


def ref_value(ref: ResultRef) -> "AttributeValueTypeDef":
    """A reference to a large result, in the record."""
    texts: dict[str, AttributeValueTypeDef] = {
        "bucket": {"S": ref["bucket"]},
        "key": {"S": ref["key"]},
        "sha256": {"S": ref["sha256"]},
    }
    return {"M": {**texts, "bytes": {"N": str(ref["bytes"])}}}


def error_value(error: Exception) -> "AttributeValueTypeDef":
    """What a record keeps of an error: name and message within ERROR_BYTES, and a status for HTTP."""
    name = type(error).__name__.encode("utf-8", "replace").decode()[:64]
    room = ERROR_BYTES - size_of(name)
    short = ""
    for each in (str(error) or "the error came without a cause").encode("utf-8", "replace").decode()[:500]:
        room -= size_of(each)
        if room < 0:
            break
        short += each
    value: dict[str, AttributeValueTypeDef] = {"name": {"S": name}, "message": {"S": short}}
    status = error.status if isinstance(error, PermanentError) else None
    if status is not None and 400 <= status <= 499:
        value["status"] = {"N": str(status)}
    return {"M": value}
