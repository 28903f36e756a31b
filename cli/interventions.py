"""What an operator does to one record. Each write holds only for the record as it was read, or raises Changed.

Every intervention but `redrive` gives the lock to an owner that no execution has, under the next fence: an execution of
the old owner that still runs, or that is redriven later, can neither finish the record nor write a fenced step.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import uuid
from typing import Any

from cli.problem import Problem
from cli.records import OPERATOR, Changed, mark, read, shard_of, write
from cli.stack import Stack

FINISHING = ("IsResponseLarge", "CacheResponse", "Finalize", "RecordFailure")
"""A redrive from these states only finishes; from any other it could start business logic again."""
DEAD = ("FAILED", "TIMED_OUT", "ABORTED")


def retry(stack: Stack, id: str) -> dict[str, Any]:
    """Start the kept request of a quarantined record again, steps kept.

    With onCrash retry all attempts begin anew. With onCrash quarantine the operator's word is for one start of business
    logic: the record says onCrash retry and that all attempts but one are used, so any other end quarantines it again.
    """
    record = read(stack, id)
    if record["status"] == "IN_PROGRESS" and OPERATOR in record["owner"]:
        return {"id": id, "executionArn": _start(stack, record, record["fence"]), "fence": record["fence"]}
    _must_be(record, "QUARANTINED")
    request = _kept_request(stack, record)
    once_only = "quarantine" in (record["onCrash"], _on_crash(request))
    fence = record["fence"] + 1
    values = {
        ":status": "IN_PROGRESS",
        ":mark": mark(stack),
        ":next": fence,
        ":attempts": stack.number("MaxAttempts") - 1 if once_only else 0,
        ":onCrash": "retry",
        ":zero": 0,
        ":shard": f"IN_PROGRESS#{shard_of(id)}",
    }
    update = (
        "SET #status = :status, #owner = :mark, fence = :next, attempts = :attempts, onCrash = :onCrash, "
        "leaseExpiresAt = :zero, openShard = :shard REMOVE finishedAt, recoveries"
    )
    write(stack, record, update, values)
    return {"id": id, "executionArn": _start(stack, record, fence), "fence": fence}


def _start(stack: Stack, record: Any, fence: int) -> str:
    """Under a name made of id and fence: a second `once retry` after a lost answer starts nothing more."""
    client = stack.client("stepfunctions")
    name = f"retry-{hashlib.sha256(record['id'].encode()).hexdigest()[:40]}-{fence}"
    request = _kept_request(stack, record)
    try:
        started = client.start_execution(stateMachineArn=stack.start_at, name=name, input=request)
    except client.exceptions.ExecutionAlreadyExists:  # it ended without taking the lock
        name = f"{name}-{uuid.uuid4().hex[:8]}"
        started = client.start_execution(stateMachineArn=stack.start_at, name=name, input=request)
    return str(started["executionArn"])


def resolve(stack: Stack, id: str, result: str | None, failure: str | None) -> dict[str, Any]:
    """Say how a quarantined operation ended: with this result (JSON text), or failed with this message."""
    record = read(stack, id)
    _must_be(record, "QUARANTINED")
    owner, fence = mark(stack), record["fence"] + 1
    values: dict[str, Any] = {
        ":mark": owner,
        ":next": fence,
        ":at": _now(stack),
        ":expiresAt": int(stack.now()) + stack.number("RetentionDays") * 86400,
    }
    common = "SET #owner = :mark, fence = :next, finishedAt = :at, expiresAt = :expiresAt, #status = :status"
    gone = "leaseExpiresAt, openShard, requestRef"
    if result is None:
        values |= {":status": "FAILED", ":error": {"name": "ResolvedByOperator", "message": failure}}
        write(stack, record, f"{common}, #error = :error REMOVE {gone}", values)
        return {"id": id, "status": "FAILED", "fence": fence}
    values[":status"] = "COMPLETED"
    if _size(result) + _size(id) + 1024 <= stack.number("InlineLimitBytes"):
        values[":result"] = result
        write(stack, record, f"{common}, #result = :result REMOVE {gone}, #error, #steps", values)
    else:
        from once.result_store import ResultStore

        store = ResultStore(stack.outputs["ResponseBucketName"], stack.client("s3"))
        values[":ref"] = store.put(id=id, tenant=id.partition("#")[0], fence=fence, owner=owner, text=result)
        write(stack, record, f"{common}, resultRef = :ref REMOVE {gone}, #error, #steps", values)
    return {"id": id, "status": "COMPLETED", "fence": fence}


def release(stack: Stack, shown: Any) -> dict[str, Any]:
    """Let the record expire now, so that the next request starts afresh. Not deleted: the fence goes on growing."""
    values = {
        ":mark": mark(stack),
        ":next": shown["fence"] + 1,
        ":status": "FAILED",
        ":at": _now(stack),
        ":over": int(stack.now()) - 2,
        ":error": {"name": "ReleasedByOperator", "message": "the lock was released; a new request starts afresh"},
    }
    update = (
        "SET #status = :status, #owner = :mark, fence = :next, finishedAt = :at, expiresAt = :over, #error = :error "
        "REMOVE leaseExpiresAt, openShard, requestRef"
    )
    write(stack, shown, update, values)
    return {"id": shown["id"], "status": "RELEASED", "fence": shown["fence"] + 1}


def redrive(stack: Stack, id: str) -> dict[str, Any]:
    """Let a dead owner finish, when business logic ended there and only the answer is not kept yet."""
    record = read(stack, id)
    _must_be(record, "IN_PROGRESS", "QUARANTINED")
    owner, client = record["owner"], stack.client("stepfunctions")
    status = owner_status(stack, owner)
    if status not in DEAD:
        raise Problem(f"{id}: its owner cannot be redriven, it is {status}: {owner}")
    last = _last_state(client, owner)
    if last not in FINISHING:
        raise Problem(
            f"{id}: its owner ended in {last}; a redrive could start it again: use `once retry` or `once resolve`"
        )
    if record["status"] == "QUARANTINED":
        values = {":status": "IN_PROGRESS", ":zero": 0, ":shard": f"IN_PROGRESS#{shard_of(id)}"}
        update = "SET #status = :status, leaseExpiresAt = :zero, openShard = :shard REMOVE finishedAt, recoveries"
        write(stack, record, update, values)
    client.redrive_execution(executionArn=owner)
    return {"id": id, "executionArn": owner, "from": last}


def owner_status(stack: Stack, owner: str) -> str:
    """As Step Functions says; NO_EXECUTION for an operator or an execution that is gone, UNKNOWN for Express."""
    if ":express:" in owner:
        return "UNKNOWN"
    client = stack.client("stepfunctions")
    try:
        return str(client.describe_execution(executionArn=owner)["status"])
    except client.exceptions.ExecutionDoesNotExist:
        return "NO_EXECUTION"


def _last_state(client: Any, owner: str) -> str:
    pages = client.get_paginator("get_execution_history").paginate(
        executionArn=owner, reverseOrder=True, includeExecutionData=False
    )
    for page in pages:
        for event in page["events"]:
            if "stateEnteredEventDetails" in event:
                return str(event["stateEnteredEventDetails"]["name"])
    return "no state"


def _must_be(record: Any, *statuses: str) -> None:
    if record["status"] not in statuses:
        raise Changed(f"{record['id']}: it is {record['status']}, not {' or '.join(statuses)}; nothing was changed")


def _kept_request(stack: Stack, record: Any) -> str:
    if "requestRef" not in record:
        raise Problem(
            f"{record['id']}: its request was not kept; send it again after `once release`, or `once resolve` it"
        )
    ref = record["requestRef"]
    return str(stack.client("s3").get_object(Bucket=ref["bucket"], Key=ref["key"])["Body"].read().decode())


def _on_crash(request: str) -> str:
    given = json.loads(request)
    given = given[0] if isinstance(given, list) else given
    return str(given.get("onCrash", "retry"))


def _size(text: str) -> int:
    return sum(1 if " " <= each <= "~" else 4 for each in text)


def _now(stack: Stack) -> str:
    return (
        datetime.datetime.fromtimestamp(stack.now(), datetime.UTC)
        .isoformat(timespec="milliseconds")
        .replace("+00:00", "Z")
    )
