"""What an operator does to one record. Each write holds only for the record as it was read, or raises Changed.

`retry`, `resolve` and `release` give the lock to an owner that no execution has, under the next fence: an execution of
the old owner that still runs, or that is redriven later, can neither finish the record nor write a fenced step.
"""

from __future__ import annotations

import datetime
from contextlib import suppress
from typing import Any

from oncekit.cli.deployed.executions import owners
from oncekit.cli.deployed.records.attributes import OPEN
from oncekit.cli.deployed.records.record import (
    RELEASED,
    Changed,
    Record,
    hash_of,
    operator_instead_of,
    read,
    retry_name,
    write,
)
from oncekit.cli.deployed.requests import kept
from oncekit.cli.deployed.stack import Stack
from oncekit.local.lanes import FAST

CLOCK_AHEAD = 300
"""Seconds that this machine's clock may be ahead of AWS's, which refuses what is signed with a greater difference
(docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html)."""
CLOCKS_DIFFER = 3600
"""Seconds: a released record has expired on every clock that is less wrong than that."""


def retry(stack: Stack, id: str) -> dict[str, Any]:
    """Start a quarantined operation again with its request, unchanged; steps stay, attempts start over.

    With onCrash quarantine the next crash quarantines it again: an operator's lock is known by its owner.
    The request is kept with the lock: a retry that ended between its write and its start is finished by the next sweep,
    and so is one whose execution ended before it took the lock.
    """
    shown = read(stack, id, "QUARANTINED")
    request = kept.demand(stack, shown)
    record = _begin_again(stack, shown, request)
    client, name = stack.client("stepfunctions"), retry_name(record)
    with suppress(client.exceptions.ExecutionAlreadyExists):  # by this very call, whose answer was lost
        client.start_execution(stateMachineArn=stack.start_at, name=name, input=request)
    return {"id": id, "executionArn": stack.execution(name), "fence": record["fence"], **_forgotten(stack, shown)}


def _forgotten(stack: Stack, shown: Record) -> dict[str, str]:
    """After a decision nobody needs the kept request: `requestLeft` says that it is still there, and what to do."""
    left = kept.forget(stack, shown)
    return {"requestLeft": left} if left else {}


def _begin_again(stack: Stack, record: Record, request: str) -> Record:
    """The record in progress again, its lock an operator's and over, its request where recovery reads it."""
    owner = operator_instead_of(stack, record)
    after = {"id": record["id"], "owner": owner, "fence": record["fence"] + 1, "status": "IN_PROGRESS"}
    values = {
        ":status": after["status"],
        ":mark": owner,
        ":next": after["fence"],
        ":zero": 0,
        ":shard": f"IN_PROGRESS#{hash_of(record['id'])[0]}",
        ":ref": kept.keep(stack, record, owner, request),
    }
    update = (
        "SET #status = :status, #owner = :mark, fence = :next, attempts = :zero, leaseExpiresAt = :zero, "
        "openShard = :shard, requestRef = :ref REMOVE #error, #request, mayStartAgain, finishedAt, recoveries"
    )
    write(stack, record, update, values, then=after)
    return after


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
    return {"id": id, "status": values[":status"], "fence": fence, **_forgotten(stack, record)}


def may_be_released(stack: Stack, id: str) -> tuple[Record, str]:
    """The record and its owner's status. Raises Changed when there is no lock, or when its owner is alive."""
    record = read(stack, id, *OPEN)
    owner, status = record["owner"], owners.owner_status(stack, record)
    if stack.lane_of(owner) == FAST:
        _surely_over(stack, record, status)
        return record, status
    if status == owners.BY_OPERATOR:  # what a retry started takes the lock in a moment
        owner = stack.execution(retry_name(record))
        status = owners.execution_status(stack, owner, id)
    if status in owners.ALIVE or (status != owners.GONE and not owners.has_ended(stack, owner)):
        status = status if status in owners.ALIVE else "RUNNING"  # it was revived just now, and its description is old
        raise Changed(f"{id}: not released: its owner is {status}: {owner}; stop that execution first")
    return record, status


def _surely_over(stack: Stack, record: Record, status: str) -> None:
    """Raises Changed for a lease that may not be over by AWS's clock. One that was ended is 0."""
    not_released = f"{record['id']}: not released: its owner is in the fast lane"
    if status == owners.MAY_RUN:
        raise Changed(f"{not_released}, {owners.what_becomes(stack, record)}")
    over = stack.now() - record.get("leaseExpiresAt", 0)
    if status == owners.LEASE_OVER and over <= CLOCK_AHEAD:
        raise Changed(
            f"{not_released}, and its lease is over for {over:.0f} s, "
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
    return {"id": shown["id"], "status": "RELEASED", "fence": fence, **_forgotten(stack, shown)}


def _size(text: str) -> int:
    return sum(1 if " " <= each <= "~" else 4 for each in text)


def _now(stack: Stack) -> str:
    at = datetime.datetime.fromtimestamp(stack.now(), datetime.UTC)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
