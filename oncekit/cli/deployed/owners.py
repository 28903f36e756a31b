"""Who had the lock of an id: followed back through the histories of its owners' executions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from oncekit.cli.deployed.fast_owners import ENDED, is_fast, owner_status
from oncekit.cli.deployed.records import FOREIGN, OPERATOR, Record, hash_of, owner_before_operator
from oncekit.cli.deployed.stack import Stack
from oncekit.console.requests import id_in

MOST_OWNERS = 20
MOST_LISTED = 5000
"""Executions of the state machine, newest first, that are looked through for those of an id."""
LOCKING = ("AcquireLock", "TakeOverLock", "RetryFailed", "RenewLock")
TAKING = ("TakeOverLock", "RetryFailed")
"""From an owner before; its steps are kept."""


def owners(stack: Stack, record: Record) -> list[dict[str, Any]]:
    """The owners, the last one first: {owner, lane, status, startedAt, endedAt, error, locks: [{state, fence, ...}]}.

    One that is gone has status GONE, an operator OPERATOR; FOREIGN is what never was this id's. Of one in the fast lane
    the status is what the record says, and nobody knows who had the lock before it.
    """
    id: str = record["id"]
    found: list[dict[str, Any]] = []
    before: str | None = record["owner"]
    if is_fast(stack, record["owner"]):
        return [_not_asked(stack, record["owner"], owner_status(stack, record))]
    while before and len(found) < MOST_OWNERS and before not in [each["owner"] for each in found]:
        about, before = _look_at(stack, before, id)
        found.append(about)
    return found


def _look_at(stack: Stack, owner: str, id: str) -> tuple[dict[str, Any], str | None]:
    if is_fast(stack, owner):
        return _not_asked(stack, owner, ENDED), None
    if not stack.has_execution(owner):
        return _not_asked(stack, owner, FOREIGN), None
    client = stack.client("stepfunctions")
    try:
        described = client.describe_execution(executionArn=owner)
        if id_in(described["input"]) != id:
            return _not_asked(stack, owner, FOREIGN), None
        locks, before = _locks(client, owner)
    except client.exceptions.ExecutionDoesNotExist:
        before = owner_before_operator(owner) if OPERATOR in owner else None
        return _not_asked(stack, owner, "OPERATOR" if OPERATOR in owner else "GONE"), before
    about = {
        "owner": owner,
        "lane": stack.lane_of(owner),
        "status": described["status"],
        "startedAt": iso(described["startDate"]),
        "endedAt": iso(described.get("stopDate")),
        "error": described.get("error"),
        "locks": locks,
    }
    return about, before


def _not_asked(stack: Stack, owner: str, status: str) -> dict[str, Any]:
    nothing: dict[str, Any] = {"startedAt": None, "endedAt": None, "error": None, "locks": []}
    return {"owner": owner, "lane": stack.lane_of(owner), "status": status, **nothing}


def _locks(client: Any, execution: str) -> tuple[list[dict[str, Any]], str | None]:
    """The locks that an execution had, oldest first, and the owner it took the first one over from."""
    locks: list[dict[str, Any]] = []
    state, read, before = "", None, None
    for event in events_of(client, execution):
        state = event.get("stateEnteredEventDetails", {}).get("name", state)
        answer = _answer(event)
        if state == "ReadRecord" and "Item" in answer:
            read = answer["Item"].get("owner", {}).get("S")
        elif state in LOCKING and "Attributes" in answer:
            has = answer["Attributes"]
            if state in TAKING and not locks:
                before = read
            number = {key: int(has[key]["N"]) for key in ("fence", "attempts")}
            locks.append({"state": state, **number, "acquiredAt": has["acquiredAt"]["S"]})
    return locks, before


def events_of(client: Any, execution: str) -> Iterator[dict[str, Any]]:
    for page in client.get_paginator("get_execution_history").paginate(executionArn=execution):
        yield from page["events"]


def _answer(event: dict[str, Any]) -> dict[str, Any]:
    """What DynamoDB answered, where the event tells it: the history may be kept without data."""
    details = event.get("taskSucceededEventDetails", {})
    if details.get("resourceType") != "dynamodb" or "output" not in details:
        return {}
    try:
        answer = json.loads(details["output"])
    except ValueError:  # truncated
        return {}
    return answer if isinstance(answer, dict) else {}


def started_for(stack: Stack, id: str) -> list[dict[str, Any]]:
    """Executions that recovery, the fast lane (by a lock that was there) or `once retry` started for an id.

    Newest first: {execution, status, startedAt}.
    """
    pages = stack.client("stepfunctions").get_paginator("list_executions")
    names = tuple(f"{kind}-{hash_of(id)[:32]}-" for kind in ("recover", "handover", "retry"))
    found = []
    options = {"MaxItems": MOST_LISTED, "PageSize": 1000}
    for page in pages.paginate(stateMachineArn=stack.outputs["StateMachineArn"], PaginationConfig=options):
        for each in page["executions"]:
            if each["name"].startswith(names):
                about = {"execution": each["executionArn"], "status": each["status"]}
                found.append({**about, "startedAt": iso(each["startDate"])})
    return found


def iso(at: Any) -> str | None:
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z") if at else None
