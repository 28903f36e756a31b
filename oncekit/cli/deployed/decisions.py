"""What an operator does to one record. Each write holds only for the record as it was read, or raises Changed.

`retry`, `resolve` and `release` give the lock to an owner that no execution has, under the next fence: an execution of
the old owner that still runs, or that is redriven later, can neither finish the record nor write a fenced step.
"""

from __future__ import annotations

import datetime
import uuid
from typing import Any

from oncekit.cli.deployed.executions import fast_owners
from oncekit.cli.deployed.executions.fast_owners import is_fast
from oncekit.cli.deployed.records.attributes import OPEN
from oncekit.cli.deployed.records.record import (
    ALIVE,
    FOREIGN,
    OPERATOR,
    RELEASED,
    Changed,
    Record,
    changed,
    has_ended,
    hash_of,
    operator_instead_of,
    owner_status,
    read,
    retry_name,
    write,
)
from oncekit.cli.deployed.requests import kept, original
from oncekit.cli.deployed.stack import Stack

CLOCK_AHEAD = 300
"""Seconds that this machine's clock may be ahead of AWS's, which refuses what is signed with a greater difference
(docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html)."""
CLOCKS_DIFFER = 3600
"""Seconds: a released record has expired on every clock that is less wrong than that."""


def retry(stack: Stack, id: str) -> dict[str, Any]:
    """Start a quarantined operation again with its request, unchanged; steps stay, attempts start over.

    With onCrash quarantine the next crash quarantines it again: an operator's lock is known by its owner.
    The request is kept with the lock: a retry that ended between its write and its start is finished by the next sweep,
    and so is one whose execution ended before it took the lock. It can also be repeated.
    """
    record = shown = read(stack, id, *OPEN)
    if record["status"] != "QUARANTINED" and not _was_cut_off(stack, record):
        goes_on = (
            f", in the fast lane: {fast_owners.what_becomes(stack, record)}" if is_fast(stack, record["owner"]) else ""
        )
        raise Changed(f"{id}: it is IN_PROGRESS, its owner is {record['owner']}{goes_on}; nothing was changed")
    request = original.demand(stack, record)
    assert request.text is not None
    if record["status"] == "QUARANTINED":
        record = _begin_again(stack, record, request.text)
    execution = _start(stack, record, request.text)
    return {"id": id, "executionArn": execution, "fence": record["fence"], **_forgotten(stack, record, shown)}


def _forgotten(stack: Stack, record: Record, shown: Record) -> dict[str, Any]:
    """`requestLeft` says which object the record named that is none of its own, and was left alone."""
    left = kept.foreign(stack, shown)
    return {"requestDeleted": kept.forget(stack, record, shown), **({"requestLeft": left} if left else {})}


def _was_cut_off(stack: Stack, record: Record) -> bool:
    """Whether the lock is an operator's; an execution may be called like one."""
    return OPERATOR in record["owner"] and owner_status(stack, record["owner"], record["id"]) == "NO_EXECUTION"


def _begin_again(stack: Stack, record: Record, request: str) -> Record:
    """The record in progress again, its lock an operator's and over, its request where recovery reads it."""
    owner = operator_instead_of(stack, record)
    after = {
        "id": record["id"],
        "owner": owner,
        "fence": record["fence"] + 1,
        "status": "IN_PROGRESS",
    }
    values = {
        ":status": after["status"],
        ":mark": after["owner"],
        ":next": after["fence"],
        ":zero": 0,
        ":shard": f"IN_PROGRESS#{hash_of(record['id'])[0]}",
        ":ref": kept.put_in_flight(stack, record, owner, request),
    }
    update = (
        "SET #status = :status, #owner = :mark, fence = :next, attempts = :zero, leaseExpiresAt = :zero, "
        "openShard = :shard, requestRef = :ref REMOVE #error, #request, mayStartAgain, finishedAt, recoveries"
    )
    write(stack, record, update, values, then=after)
    return after


def _start(stack: Stack, record: Record, request: str) -> str:
    """Under a name that only this retry has: repeated after a lost answer, it starts nothing more."""
    client = stack.client("stepfunctions")
    name = retry_name(record)
    try:
        started = client.start_execution(stateMachineArn=stack.start_at, name=name, input=request)
    except client.exceptions.ExecutionAlreadyExists as error:  # it has ended: did it take the lock?
        now = read(stack, record["id"])
        if (now["owner"], now["fence"]) != (record["owner"], record["fence"]):
            raise changed(stack, record["id"]) from error
        name = f"{name}-{uuid.uuid4().hex[:8]}"
        started = client.start_execution(stateMachineArn=stack.start_at, name=name, input=request)
    return str(started["executionArn"])


def resolve(stack: Stack, id: str, result: str | None, failure: str | None) -> dict[str, Any]:
    """Say how a quarantined operation ended: with this result (JSON text), or failed with this message."""
    record = read(stack, id, "QUARANTINED")
    owner, fence = operator_instead_of(stack, record), record["fence"] + 1
    values: dict[str, Any] = {
        ":mark": owner,
        ":next": fence,
        ":at": _now(stack),
        ":expiresAt": int(stack.now()) + stack.number("RetentionDays") * 86400,
        ":status": "FAILED" if result is None else "COMPLETED",
    }
    update = "SET #owner = :mark, fence = :next, finishedAt = :at, expiresAt = :expiresAt, #status = :status"
    gone = "leaseExpiresAt, openShard, #request, requestRef, mayStartAgain"
    if result is None:
        values[":error"] = {"name": "ResolvedByOperator", "message": failure}
        update += f", #error = :error REMOVE {gone}"
    elif _size(result) + _size(id) + 1024 <= stack.number("InlineLimitBytes"):  # as ExecuteBusinessLogic reckons it
        values[":result"] = result
        update += f", #result = :result REMOVE {gone}, #error, #steps"
    else:
        from once.result_store import ResultStore

        store = ResultStore(stack.outputs["ResponseBucketName"], stack.number("RetentionDays"), stack.client("s3"))
        values[":ref"] = store.put(id=id, tenant=id.partition("#")[0], fence=fence, owner=owner, text=result)
        update += f", resultRef = :ref REMOVE {gone}, #error, #steps"
    write(stack, record, update, values, then={"owner": owner, "fence": fence, "status": values[":status"]})
    return {"id": id, "status": values[":status"], "fence": fence, **_forgotten(stack, record, record)}


def may_be_released(stack: Stack, id: str) -> tuple[Record, str]:
    """The record and its owner's status. Raises Changed when there is no lock, or when its owner is alive."""
    record = read(stack, id, *OPEN)
    owner = record["owner"]
    status = fast_owners.owner_status(stack, record)
    if status == fast_owners.MAY_RUN:
        raise Changed(f"{id}: not released: its owner is in the fast lane, {fast_owners.what_becomes(stack, record)}")
    if is_fast(stack, owner):
        _surely_over(stack, record, status)
        return record, status
    if OPERATOR in owner and status == "NO_EXECUTION":  # what a retry started takes the lock in a moment
        owner = stack.execution(retry_name(record))
        status = owner_status(stack, owner, id)
    if status in ALIVE or (status not in ("NO_EXECUTION", FOREIGN) and not has_ended(stack, owner)):
        status = status if status in ALIVE else "RUNNING"  # it was revived just now, and its description is old
        raise Changed(f"{id}: not released: its owner is {status}: {owner}; stop that execution first")
    return record, status


def _surely_over(stack: Stack, record: Record, status: str) -> None:
    """Raises Changed for a lease that may not be over by AWS's clock. One that was ended is 0."""
    over = stack.now() - record.get("leaseExpiresAt", 0)
    if status == fast_owners.LEASE_OVER and over <= CLOCK_AHEAD:
        raise Changed(
            f"{record['id']}: not released: its owner is in the fast lane, and its lease is over for {over:.0f} s, "
            f"only by the clock of this machine perhaps; try again in {CLOCK_AHEAD - over:.0f} s"
        )


def release(stack: Stack, shown: Record) -> dict[str, Any]:
    """Let the record expire now, so that the next request starts afresh. Not deleted: the fence goes on growing."""
    fence = shown["fence"] + 1
    values = {
        ":mark": operator_instead_of(stack, shown),
        ":next": fence,
        ":status": "FAILED",
        ":at": _now(stack),
        ":over": int(stack.now()) - CLOCKS_DIFFER,
        ":error": {"name": RELEASED, "message": "the lock was released; a new request starts afresh"},
    }
    update = (
        "SET #status = :status, #owner = :mark, fence = :next, finishedAt = :at, expiresAt = :over, #error = :error "
        "REMOVE leaseExpiresAt, openShard, #request, requestRef, mayStartAgain"
    )
    write(stack, shown, update, values, then={"owner": values[":mark"], "fence": fence, "status": "FAILED"})
    return {"id": shown["id"], "status": "RELEASED", "fence": fence, **_forgotten(stack, shown, shown)}


def _size(text: str) -> int:
    return sum(1 if " " <= each <= "~" else 4 for each in text)


def _now(stack: Stack) -> str:
    at = datetime.datetime.fromtimestamp(stack.now(), datetime.UTC)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
