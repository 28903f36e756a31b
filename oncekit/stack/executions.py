"""Owners of a deployed stack: whether the one of a record goes on, and the path that one took.

An Express execution keeps no history and answers no question, nor does an invocation of a function. So the record says
what is known of an owner in the fast or the direct lane: its lease lasts longer than it and its function can, so when
it is over, the owner has ended. The owner of a pending operation has ended in any case: what goes on is work elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from shlex import quote
from typing import Any

from oncekit.console.parts import part_of
from oncekit.console.run import Run, run_of
from oncekit.console.words import iso
from oncekit.contract.lanes import FULL, Invoked
from oncekit.contract.requests import id_in
from oncekit.contract.words import OPERATOR, TICKET
from oncekit.problem import Problem
from oncekit.stack.acts import before
from oncekit.stack.records import Record, is_pending
from oncekit.stack.stack import Stack

MAY_RUN, LEASE_OVER, ENDED = "MAY_RUN", "LEASE_OVER", "ENDED"
"""Of an owner in the fast or the direct lane: its lease is not over; it is, and nobody knows how it ended; it holds no
lock."""
PENDING = "PENDING"
"""Of one that has started work elsewhere, and has ended: nobody works here."""
GONE, BY_OPERATOR, BY_TICKET = "GONE", "OPERATOR", "TICKET"
"""Of an owner that is no execution of this stack, or not any more; of an operator's lock; of work elsewhere that has
ended the operation."""
MOST_OWNERS = 10
"""One after the other, that are looked up: each is two calls, or more."""
NO_EXECUTION = (BY_OPERATOR, BY_TICKET)
"""Of owners that are in no lane."""
NOT_ALIVE = ("SUCCEEDED", "FAILED", "TIMED_OUT", "ABORTED", PENDING, LEASE_OVER, ENDED, GONE, BY_OPERATOR)
"""Any other status, also one that is not known, is of an owner that may go on."""


def owner_status(stack: Stack, record: Record) -> str:
    """The status of a record's owner: as Step Functions says or, where it cannot be asked, as the record says."""
    owner = record["owner"]
    if is_pending(record):
        return PENDING
    if owner.startswith(TICKET):
        return BY_TICKET
    if stack.lane_of(owner) != FULL:
        if record["status"] != "IN_PROGRESS":
            return ENDED
        return MAY_RUN if record["leaseExpiresAt"] >= stack.now() else LEASE_OVER
    if OPERATOR in owner:
        return BY_OPERATOR
    if not stack.has_execution(owner):
        return GONE
    client = stack.client("stepfunctions")
    try:
        return str(client.describe_execution(executionArn=owner, includedData="METADATA_ONLY")["status"])
    except client.exceptions.ExecutionDoesNotExist:
        return GONE


def where_its_log_is(stack: Stack, owner: str, group: str | None) -> str | None:
    """Where to look for what an owner did that has no history; None for one that has.

    `group` is the log group of the function of the operation, which is the owner in the direct lane.
    """
    if execution := stack.fast_execution(owner):
        return where_its_path_is(stack, execution)
    if (invoked := Invoked.of(owner)) is None:
        return None
    within, pattern = group or f"/aws/lambda/{invoked.function}", f'"{invoked.request}"'
    command = f"aws logs filter-log-events --log-group-name {quote(within)} --filter-pattern {quote(pattern)}"
    return f"what its invocation logged: {command}"


def where_its_path_is(stack: Stack, execution: str) -> str:
    """Where to look for what a fast execution did."""
    level = stack.parameters.get("ExecutionLog", "ERROR")
    if stack.endpoint_url is not None:
        return "`once up` prints the path of each execution when it ends"
    if level == "OFF":
        return "its log is off (ExecutionLog)"
    group = f"/aws/vendedlogs/states/{stack.given_name}-fast"
    pattern = quote(f'{{ $.execution_arn = "{execution}" }}')
    command = f"aws logs filter-log-events --log-group-name {group} --filter-pattern {pattern}"
    return f"its log has {'errors only' if level == 'ERROR' else 'every state'}: {command}"


def run_of_owner(stack: Stack, record: Record) -> Run:
    """The run of a record's owner. Raises Problem where there is none of this stack's, or none that can be read."""
    owner: str = record["owner"]
    run = run_on(stack, owner)
    if id_in(run.input or "") != record["id"]:  # a function may have written any owner
        raise Problem(f"{record['id']}: its record names an owner that has another request: {owner}")
    return run


def owners_of(stack: Stack, record: Record, run: Run | None) -> list[Run]:
    """A run about a record, and before it those from whom the lock was taken, by an operator too, as far as they have a
    history."""
    found, decided = [run] if run else [], [each["owner"] for each in before(record) if "owner" in each]
    while len(found) < MOST_OWNERS:
        theirs = part_of(found[0]).taken_from if found else str(record["owner"])
        if OPERATOR in theirs:
            theirs = stack.execution(decided.pop()) if decided else ""
        try:
            earlier = run_on(stack, theirs)
        except Problem:  # in another lane, or gone
            break
        if id_in(earlier.input or "") != record["id"]:
            break
        found.insert(0, earlier)
    return found


def run_on(stack: Stack, execution: str) -> Run:
    """The run of an ARN. Raises Problem where it is none of this stack's, or is gone."""
    if fast := stack.fast_execution(execution):
        raise Problem(
            f"{fast}: it is an execution of the fast lane. Express executions keep no history, so nobody can say "
            f"whether one with this ARN existed; {where_its_path_is(stack, fast)}; `once show ID` tells what its "
            "record says"
        )
    if not stack.has_execution(execution):
        raise Problem(f"{execution} is not an execution of the operations of the stack {stack.name}")
    client = stack.client("stepfunctions")
    try:
        return run_of(client.describe_execution(executionArn=execution), events_of(client, execution))
    except client.exceptions.ExecutionDoesNotExist as error:
        raise Problem(f"{execution}: the execution is gone; Step Functions keeps one for 90 days") from error


def events_of(client: Any, execution: str) -> Sequence[dict[str, Any]]:
    pages = client.get_paginator("get_execution_history").paginate(executionArn=execution)
    return [event for page in pages for event in page["events"]]


def as_json(run: Run) -> dict[str, Any]:
    """{execution, status, startedAt, endedAt, error, cause, states: [...]}, in the order in which states were entered:
    {state, enteredAt, exitedAt, input, output, errors: [{error, cause}]}.
    """
    return {
        "execution": run.arn,
        "status": run.status,
        "startedAt": iso(run.started_at),
        "endedAt": iso(run.ended_at),
        "error": run.error,
        "cause": run.cause,
        "states": [
            {
                "state": visit.state,
                "enteredAt": iso(visit.entered_at),
                "exitedAt": iso(visit.exited_at),
                "input": visit.input,
                "output": visit.output,
                "errors": [{"error": each.error, "cause": each.cause} for each in visit.failures],
            }
            for visit in run.visits
        ],
    }
