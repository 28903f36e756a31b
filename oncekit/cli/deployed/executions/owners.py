"""Who had the lock of an id: followed back through the histories of its owners' executions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from oncekit.cli.deployed.executions.fast_owners import ENDED, is_fast, owner_status
from oncekit.cli.deployed.records.record import FOREIGN, OPERATOR, Record, hash_of, owner_before_operator
from oncekit.cli.deployed.stack import Stack
from oncekit.console.events import iso, moment
from oncekit.console.requests import id_in
from oncekit.console.run import Run, run_of
from oncekit.local.lanes import Lane

MOST_OWNERS = 20
MOST_LISTED = 5000
"""Executions of the state machine, newest first, that are looked through for those of an id."""
LOCKING = ("AcquireLock", "TakeOverLock", "RetryFailed", "RenewLock")
TAKING = ("TakeOverLock", "RetryFailed")
"""From an owner before; its steps are kept."""
Event = Mapping[str, Any]


@dataclass(frozen=True)
class Owner:
    """An owner, and what Step Functions tells of its execution, if anything."""

    owner: str
    lane: Lane
    status: str
    """GONE for one that is not there any more, OPERATOR for a person, FOREIGN for what never was this id's. Of one in
    the fast lane what the record says; nobody knows who had the lock before it."""
    described: Mapping[str, Any] = field(default_factory=dict)
    events: Sequence[Event] = ()

    @property
    def run(self) -> Run | None:
        return run_of(self.described, self.events) if self.described else None

    def as_json(self) -> dict[str, Any]:
        """{owner, lane, status, startedAt, endedAt, error, locks: [{state, fence, attempts, acquiredAt}]}."""
        started, ended = (self.described.get(name) for name in ("startDate", "stopDate"))
        return {
            "owner": self.owner,
            "lane": self.lane,
            "status": self.status,
            "startedAt": iso(moment(started)) if started else None,
            "endedAt": iso(moment(ended)) if ended else None,
            "error": self.described.get("error"),
            "locks": _locks(self.events)[0],
        }


def owners(stack: Stack, record: Record) -> list[Owner]:
    """The owners, the last one first."""
    found: list[Owner] = []
    before: str | None = record["owner"]
    if is_fast(stack, record["owner"]):
        return [Owner(record["owner"], stack.lane_of(record["owner"]), owner_status(stack, record))]
    while before and len(found) < MOST_OWNERS and before not in [each.owner for each in found]:
        about, before = _look_at(stack, before, record["id"])
        found.append(about)
    return found


def _look_at(stack: Stack, owner: str, id: str) -> tuple[Owner, str | None]:
    lane = stack.lane_of(owner)
    if is_fast(stack, owner):
        return Owner(owner, lane, ENDED), None
    if not stack.has_execution(owner):
        return Owner(owner, lane, FOREIGN), None
    client = stack.client("stepfunctions")
    try:
        described = client.describe_execution(executionArn=owner)
        if id_in(described["input"]) != id:
            return Owner(owner, lane, FOREIGN), None
        events = list(events_of(client, owner))
    except client.exceptions.ExecutionDoesNotExist:
        is_operator = OPERATOR in owner
        return Owner(owner, lane, "OPERATOR" if is_operator else "GONE"), owner_before_operator(owner)
    return Owner(owner, lane, described["status"], described, events), _locks(events)[1]


def _locks(events: Sequence[Event]) -> tuple[list[dict[str, Any]], str | None]:
    """The locks that an execution had, oldest first, and the owner it took the first one over from."""
    locks: list[dict[str, Any]] = []
    state, read, before = "", None, None
    for event in events:
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


def _answer(event: Event) -> dict[str, Any]:
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
                found.append({**about, "startedAt": iso(moment(each["startDate"]))})
    return found
