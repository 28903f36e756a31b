"""`once redrive`: a dead owner goes on from the state it died in, when that state can only finish what was decided."""

from __future__ import annotations

from typing import Any

from cli import kept
from cli.problem import Problem
from cli.records import ALIVE, STATUSES, Changed, Record, hash_of, owner_status, read, write
from cli.stack import Stack

DEAD = ("FAILED", "TIMED_OUT", "ABORTED")
ANSWERING = ("IsResponseLarge", "CacheResponse", "Finalize", "RecordFailure")
"""From these states a redrive ends in an answer, without starting business logic."""
QUARANTINING = ("KeepRequest", "RecordQuarantine")
"""From these it ends in quarantine, which is of use only to a record that is not there yet."""
PATIENCE = 60
"""Seconds of lease while the owner is revived: nobody else looks after the record meanwhile."""


class Refused(Changed):
    """The owner does not go on."""


def redrive(stack: Stack, id: str) -> dict[str, Any]:
    """Let a dead owner finish. A quarantined record is in progress again only while the redrive is accepted."""
    record = read(stack, id, *STATUSES)
    last = _where_it_goes_on(stack, record)
    if record["status"] == "IN_PROGRESS":
        _redrive(stack, record)
        return {"id": id, "executionArn": record["owner"], "from": last}
    request = kept.read(stack, record)
    revived = _in_progress_again(stack, record)
    kept.forget(stack, record)  # before the redrive: a later quarantine under this fence keeps its request there, too
    try:
        _redrive(stack, record)
    except Refused:
        if request is not None:
            kept.put_back(stack, record, request)
        _quarantined_as_before(stack, record, revived)
        raise
    return {"id": id, "executionArn": record["owner"], "from": last}


def _where_it_goes_on(stack: Stack, record: Record) -> str:
    """The state that a redrive would begin with. Raises Problem or Changed when it must not, or cannot, be redriven."""
    id, owner = record["id"], record["owner"]
    status = owner_status(stack, owner)
    if status not in DEAD:
        raise Changed(f"{id}: its owner cannot be redriven, it is {status}: {owner}; nothing was changed")
    client = stack.client("stepfunctions")
    described = client.describe_execution(executionArn=owner)
    if described.get("redriveStatus", "REDRIVABLE") != "REDRIVABLE":
        why = described.get("redriveStatusReason", described["redriveStatus"])
        raise Changed(f"{id}: its owner cannot be redriven: {why}; use `once retry` or `once resolve`")
    last = _last_state(client, owner)
    if last not in (ANSWERING if record["status"] == "QUARANTINED" else ANSWERING + QUARANTINING):
        raise Changed(
            f"{id}: its owner ended in {last}: a redrive would not finish it, or start business logic again; "
            + ("use `once retry` or `once resolve`" if record["status"] == "QUARANTINED" else "recovery takes it up")
        )
    return last


def _last_state(client: Any, owner: str) -> str:
    pages = client.get_paginator("get_execution_history").paginate(
        executionArn=owner, reverseOrder=True, includeExecutionData=False
    )
    for page in pages:
        for event in page["events"]:
            if "stateEnteredEventDetails" in event:
                return str(event["stateEnteredEventDetails"]["name"])
    return "no state"


def _redrive(stack: Stack, record: Record) -> None:
    """Raises Refused when it surely was not accepted. After a lost answer the record stays as it is, for recovery."""
    from botocore.exceptions import ClientError

    client = stack.client("stepfunctions")
    try:
        client.redrive_execution(executionArn=record["owner"])
    except ClientError as error:
        if error.response["ResponseMetadata"]["HTTPStatusCode"] >= 500:
            raise
        if owner_status(stack, record["owner"]) in ALIVE:  # accepted before, and its answer was lost
            return
        why = error.response["Error"].get("Message") or error.response["Error"]["Code"]
        raise Refused(
            f"{record['id']}: the redrive was refused: {why}; it is {record['status']} as before: "
            "use `once retry` or `once resolve`"
        ) from error


def _in_progress_again(stack: Stack, record: Record) -> Record:
    lease = int(stack.now()) + PATIENCE
    values = {":status": "IN_PROGRESS", ":until": lease, ":shard": f"IN_PROGRESS#{hash_of(record['id'])[0]}"}
    update = (
        "SET #status = :status, leaseExpiresAt = :until, openShard = :shard REMOVE finishedAt, recoveries, requestRef"
    )
    write(stack, record, update, values)
    return {**record, "status": "IN_PROGRESS", "leaseExpiresAt": lease}


def _quarantined_as_before(stack: Stack, record: Record, revived: Record) -> None:
    """The record as it was, unless somebody else was faster. Raises Problem then: it is theirs now."""
    names = ("leaseExpiresAt", "openShard", "finishedAt", "recoveries", "requestRef")
    present = [name for name in names if name in record]
    values = {":status": record["status"], **{f":{name}": record[name] for name in present}}
    update = ", ".join(["SET #status = :status", *(f"{name} = :{name}" for name in present)])
    try:
        write(stack, revived, update, values)
    except Changed as changed:
        raise Problem(f"{record['id']}: the redrive was refused, and meanwhile: {changed}") from changed
