"""The path that an execution of a deployed stack took: that of the owner of an id, or of an ARN."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from oncekit.cli.deployed.executions.owners import no_history
from oncekit.cli.deployed.records.record import Record, find
from oncekit.cli.deployed.stack import Stack
from oncekit.cli.problem import Problem
from oncekit.console.events import iso
from oncekit.console.requests import id_in
from oncekit.console.run import Run, run_of


def run_on(stack: Stack, about: str) -> Run:
    """The run of an id or ARN. Raises Problem where there is none of this stack's, or none that can be read."""
    return run_on_arn(stack, about) if about.startswith("arn:") else run_for(stack, find(stack, about))


def run_for(stack: Stack, record: Record) -> Run:
    """The run of a record's owner."""
    owner: str = record["owner"]
    run = run_on_arn(stack, owner)
    if id_in(run.input or "") != record["id"]:  # a function may have written any owner
        raise Problem(f"{record['id']}: its record names an owner that has another request: {owner}")
    return run


def run_on_arn(stack: Stack, execution: str) -> Run:
    """The run of an execution. Raises Problem."""
    if fast := stack.fast_execution(execution):
        raise Problem(no_history(stack, fast))
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


def definition_of(stack: Stack, run: Run) -> Any:
    """The definition that the execution was started with, parsed: the machine may have another one by now."""
    described = stack.client("stepfunctions").describe_state_machine_for_execution(executionArn=run.arn)
    return json.loads(described["definition"])


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
