"""The owner of a record: whether its execution goes on, and which executions were started for the same id.

An Express execution keeps no history and answers no question, so the record says what is known of an owner in the fast
lane: its lease lasts longer than its execution and its function can, so when it is over, the owner has ended.
"""

from __future__ import annotations

from shlex import quote
from typing import Any

from oncekit.cli.deployed.records.record import OPERATOR, Record, hash_of
from oncekit.cli.deployed.stack import Stack
from oncekit.console.events import iso, moment
from oncekit.console.requests import id_in
from oncekit.local.lanes import FAST

ALIVE = ("RUNNING", "PENDING_REDRIVE")
"""Of an execution that goes on, or will."""
MAY_RUN, LEASE_OVER, ENDED = "MAY_RUN", "LEASE_OVER", "ENDED"
"""Of an owner in the fast lane: its lease is not over; it is, and nobody knows how it ended; it holds no lock."""
GONE, BY_OPERATOR = "GONE", "OPERATOR"
"""Of an owner that is no execution of this stack with this id, or not any more; of an operator's lock."""
ENDS = ("ExecutionFailed", "ExecutionTimedOut", "ExecutionAborted", "ExecutionSucceeded")
"""The newest event of an execution that has ended."""
MOST_LISTED = 5000
"""Executions of the state machine, newest first, that are looked through for those of an id."""


def owner_status(stack: Stack, record: Record) -> str:
    """The status of a record's owner: as Step Functions says or, in the fast lane, as the record says."""
    owner = record["owner"]
    if stack.lane_of(owner) == FAST:
        if record["status"] != "IN_PROGRESS":
            return ENDED
        return MAY_RUN if record["leaseExpiresAt"] >= stack.now() else LEASE_OVER
    status = execution_status(stack, owner, record["id"])
    return BY_OPERATOR if status == GONE and OPERATOR in owner else status


def execution_status(stack: Stack, execution: str, id: str) -> str:
    """As Step Functions says; GONE for one with another request, too: a function may write any owner."""
    if not stack.has_execution(execution):
        return GONE
    client = stack.client("stepfunctions")
    try:
        described = client.describe_execution(executionArn=execution)
    except client.exceptions.ExecutionDoesNotExist:
        return GONE
    return str(described["status"]) if id_in(described["input"]) == id else GONE


def has_ended(stack: Stack, execution: str) -> bool:
    """Whether the history of an execution shows its end; a description of it may be old."""
    newest = stack.client("stepfunctions").get_execution_history(
        executionArn=execution, reverseOrder=True, maxResults=1, includeExecutionData=False
    )["events"]
    return bool(newest) and newest[0]["type"] in ENDS


def input_of(stack: Stack, execution: str) -> str | None:
    """The text that an execution was started with; None when it is gone, never was, or is none of this stack's."""
    if not stack.has_execution(execution):
        return None
    client = stack.client("stepfunctions")
    try:
        return str(client.describe_execution(executionArn=execution)["input"])
    except (client.exceptions.ExecutionDoesNotExist, client.exceptions.InvalidArn):
        return None


def started_for(stack: Stack, id: str) -> list[dict[str, Any]]:
    """Executions that recovery, the fast lane (by a lock that was there) or `once retry` started for an id.

    Newest first: {execution, status, startedAt}.
    """
    pages = stack.client("stepfunctions").get_paginator("list_executions")
    names = tuple(f"{kind}-{hash_of(id)[:32]}-" for kind in ("recover", "handover", "retry"))
    options = {"MaxItems": MOST_LISTED, "PageSize": 1000}
    listed = pages.paginate(stateMachineArn=stack.outputs["StateMachineArn"], PaginationConfig=options)
    return [
        {"execution": each["executionArn"], "status": each["status"], "startedAt": iso(moment(each["startDate"]))}
        for page in listed
        for each in page["executions"]
        if each["name"].startswith(names)
    ]


def what_becomes(stack: Stack, record: Record) -> str:
    """What happens next to a record in progress whose owner is in the fast lane."""
    if (left := int(record["leaseExpiresAt"] - stack.now())) >= 0:
        return f"it may run until its lease is over, in {left + 1} s; then recovery starts its request in the full lane"
    return "its lease is over, and recovery starts its request in the full lane"


def where_its_path_is(stack: Stack, execution: str) -> str:
    """Where to look for what a fast execution did."""
    level = stack.parameters.get("ExecutionLog", "ERROR")
    if stack.endpoint_url is not None:
        return "`once up` prints the path of each execution when it ends"
    if level == "OFF":
        return "its log is off (ExecutionLog)"
    name = stack.id.split("/")[1] if stack.id.count("/") > 1 else stack.name  # a stack can be named by its ARN, too
    pattern = quote(f'{{ $.execution_arn = "{execution}" }}')
    command = f"aws logs filter-log-events --log-group-name /aws/vendedlogs/states/{name}-fast --filter-pattern"
    return f"its log has {'every state' if level == 'ALL' else 'errors only'}: {command} {pattern}"


def no_history(stack: Stack, execution: str) -> str:
    """What there is to say in place of a path."""
    return (
        f"{execution}: it is an execution of the fast lane. Express executions keep no history, so nobody can say "
        "whether one with this ARN existed; "
        f"{where_its_path_is(stack, execution)}; `once show ID` tells what its record says"
    )
