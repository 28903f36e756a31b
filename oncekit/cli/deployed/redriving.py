"""`once redrive`: a dead owner goes on from the state it died in, when that state can only finish what was decided.

Three calls, and after each of them the record says what is true. A write claims the redrive by a new lease, so that a
duplicate, recovery or another operator who read the record before can neither quarantine it nor claim it, too. Then
the owner is redriven. The kept request is deleted only after that, while the record is still this command's: a command
that is cut off leaves a record that recovery takes up.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from oncekit.cli.deployed import kept_request
from oncekit.cli.deployed.fast_owners import is_fast, what_becomes
from oncekit.cli.deployed.records import (
    FOREIGN,
    STATUSES,
    Changed,
    Record,
    find,
    has_ended,
    hash_of,
    owner_status,
    read,
    write,
)
from oncekit.cli.deployed.stack import Stack, clear_aws_errors, is_throttling
from oncekit.cli.problem import Problem

DEAD = ("FAILED", "TIMED_OUT", "ABORTED")
ANSWERING = ("IsResponseLarge", "CacheResponse", "Finalize", "RecordFailure")
"""From these states a redrive ends in an answer, without starting business logic."""
QUARANTINING = ("KeepRequest", "RecordQuarantine")
"""From these it ends in quarantine, which is of use only to a record that is not there yet."""
SPREAD = 60
"""Seconds among which an operator's lease is chosen. Nobody else looks after the record while its owner is revived."""
OF_A_CLAIM = 120
"""Seconds at least that a state machine claims a redrive for, too, however short its leases are."""
NOT_REDRIVABLE = ("ExecutionNotRedrivable", "ExecutionDoesNotExist")


class Refused(Changed):
    """The owner does not go on."""


def redrive(stack: Stack, id: str) -> dict[str, Any]:
    """Let a dead owner finish. A quarantined record is in progress again only while the redrive is accepted."""
    record = read(stack, id, *STATUSES)
    last = _where_it_goes_on(stack, record)
    claimed = _claim(stack, record)
    _redrive(stack, record, claimed)
    # A redrive that ends in quarantine needs the request that it kept.
    forgotten = last in ANSWERING and _is_still(stack, claimed) and kept_request.forget(stack, record, record)
    left = kept_request.foreign(stack, record)
    done = {"id": id, "executionArn": record["owner"], "from": last, "requestDeleted": forgotten}
    return {**done, "requestLeft": left} if left else done


def _where_it_goes_on(stack: Stack, record: Record) -> str:
    """The state that a redrive would begin with. Raises Changed when it must not, or cannot, be redriven."""
    id, owner = record["id"], record["owner"]
    if is_fast(stack, owner):
        raise Changed(f"{id}: its owner cannot be redriven: {_instead(stack, record)}; nothing was changed")
    status = owner_status(stack, owner, id)
    if status not in DEAD:
        raise Changed(f"{id}: its owner cannot be redriven, it is {status}: {owner}; nothing was changed")
    client = stack.client("stepfunctions")
    described = client.describe_execution(executionArn=owner)
    if described.get("redriveStatus", "REDRIVABLE") != "REDRIVABLE":
        why = described.get("redriveStatusReason", described["redriveStatus"])
        raise Changed(f"{id}: its owner cannot be redriven: {why}; use `once retry` or `once resolve`")
    if not has_ended(stack, owner):
        raise Changed(f"{id}: its owner was redriven just now, and goes on: {owner}; nothing was changed")
    last = _last_state(client, owner)
    if last not in (ANSWERING if record["status"] == "QUARANTINED" else ANSWERING + QUARANTINING):
        raise Changed(
            f"{id}: its owner ended in {last}: a redrive would not finish it, or start business logic again; "
            + ("use `once retry` or `once resolve`" if record["status"] == "QUARANTINED" else "recovery takes it up")
        )
    return last


def _instead(stack: Stack, record: Record) -> str:
    """What there is in place of a redrive, which needs a history."""
    fast = "it was in the fast lane, and an Express execution keeps no history to go on from"
    if record["status"] == "QUARANTINED":
        return f"{fast}; look at the effect, then use `once retry` (it starts in the full lane) or `once resolve`"
    return f"{fast}; {what_becomes(stack, record)}"


def _newest_first(client: Any, owner: str) -> Iterator[dict[str, Any]]:
    pages = client.get_paginator("get_execution_history").paginate(
        executionArn=owner, reverseOrder=True, includeExecutionData=False
    )
    for page in pages:
        yield from page["events"]


def _last_state(client: Any, owner: str) -> str:
    entered = (each["stateEnteredEventDetails"] for each in _newest_first(client, owner) if _is_entry(each))
    return next((str(each["name"]) for each in entered), "no state")


def _is_entry(event: dict[str, Any]) -> bool:
    return "stateEnteredEventDetails" in event


def _claim(stack: Stack, record: Record) -> Record:
    """The record in progress, with a lease that nobody has read. What recovery counted of one in progress stays."""
    claimed = {
        "id": record["id"],
        "owner": record["owner"],
        "fence": record["fence"],
        "status": "IN_PROGRESS",
        "leaseExpiresAt": _new_lease(stack, record),
    }
    values = {
        ":status": claimed["status"],
        ":until": claimed["leaseExpiresAt"],
        ":shard": f"IN_PROGRESS#{hash_of(record['id'])[0]}",
    }
    update = "SET #status = :status, leaseExpiresAt = :until, openShard = :shard"
    if record["status"] == "QUARANTINED":
        update += " REMOVE finishedAt, recoveries, requestRef"
    write(stack, record, update, values, then=claimed)
    return claimed


def _new_lease(stack: Stack, record: Record) -> int:
    """An end that nobody has read: beyond any that a state machine gives, and another operator's is another one."""
    of_an_attempt = stack.number("BusinessTimeoutSeconds") + 5 + stack.number("LeaseMarginSeconds")
    longest = max(OF_A_CLAIM, of_an_attempt + stack.number("BackOffCapSeconds"))
    spread = 1 + random.randrange(SPREAD)  # noqa: S311 - tells two claims of one second apart, hides nothing
    return max(int(stack.now()), int(record["leaseExpiresAt"])) + longest + spread


def _redrive(stack: Stack, record: Record, claimed: Record) -> None:
    """Raises Refused when it was not accepted, and Problem when nobody knows: then the record stays as claimed."""
    from botocore.exceptions import BotoCoreError, ClientError

    client = stack.client("stepfunctions")
    try:
        client.redrive_execution(executionArn=record["owner"])
    except (ClientError, BotoCoreError) as error:
        if not _is_refusal(error):
            raise _unknown(stack, claimed, error) from error
        if _goes_on(stack, record):  # somebody else redrove it, or this call did, and its answer was lost
            return
        _put_back(stack, record, claimed)
        _tell_refusal(record, error)


def _is_refusal(error: Exception) -> bool:
    """Whether AWS said no. A throttled call may be the repetition of one that was accepted."""
    from botocore.exceptions import ClientError

    if not isinstance(error, ClientError) or is_throttling(error.response["Error"]["Code"]):
        return False
    return error.response["ResponseMetadata"]["HTTPStatusCode"] < 500


def _goes_on(stack: Stack, record: Record) -> bool:
    owner = record["owner"]
    status = owner_status(stack, owner, record["id"])
    return status not in (*DEAD, FOREIGN, "NO_EXECUTION") or (status in DEAD and not has_ended(stack, owner))


def _unknown(stack: Stack, claimed: Record, error: Exception) -> Problem:
    try:
        with clear_aws_errors():
            raise error
    except Problem as problem:
        why = str(problem).partition("; ")[0]
    left = claimed["leaseExpiresAt"] - int(stack.now())
    return Problem(
        f"{claimed['id']}: it is not known whether its owner continues ({why}); the record is IN_PROGRESS, and when "
        f"its lease is over, in {left} s, recovery redrives the owner if it is still dead; `once show` shows its status"
    )


def _tell_refusal(record: Record, error: Any) -> None:
    code = error.response["Error"]["Code"]
    why = error.response["Error"].get("Message") or code
    if code not in NOT_REDRIVABLE:  # a permission, say: advice comes with what AWS said
        raise error
    raise Refused(
        f"{record['id']}: the redrive was refused: {why}; it is {record['status']} as before: "
        + ("use `once retry` or `once resolve`" if record["status"] == "QUARANTINED" else "recovery takes it up")
    ) from error


def _put_back(stack: Stack, record: Record, claimed: Record) -> None:
    """The record as it was, unless somebody else was faster: then it is theirs now, and Refused says so."""
    names = ("leaseExpiresAt", "openShard", "finishedAt", "recoveries", "requestRef")
    present = [name for name in names if name in record]
    values = {":before": record["status"], **{f":{name}": record[name] for name in present}}
    update = ", ".join(["SET #status = :before", *(f"{name} = :{name}" for name in present)])
    before = {name: record[name] for name in ("status", "owner", "fence", "leaseExpiresAt")}
    try:
        write(stack, claimed, update, values, then=before)
    except Changed as changed:
        raise Refused(
            f"{record['id']}: the redrive was refused, and the record was not put back: {changed}"
        ) from changed


def _is_still(stack: Stack, claimed: Record) -> bool:
    """Whether the record is this command's, or its owner's answer by now: nobody has quarantined it since."""
    try:
        now = find(stack, claimed["id"])
    except Problem:
        return False
    if (now["owner"], now["fence"]) != (claimed["owner"], claimed["fence"]):
        return False
    return now["status"] in ("COMPLETED", "FAILED") or (
        (now["status"], now.get("leaseExpiresAt")) == (claimed["status"], claimed["leaseExpiresAt"])
        and claimed["leaseExpiresAt"] > stack.now()
    )
