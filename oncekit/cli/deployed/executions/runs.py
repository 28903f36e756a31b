"""The run of a deployed stack that a command is about: of an execution, or of the owner of an id."""

from __future__ import annotations

import json
from typing import Any

from oncekit.cli.deployed.executions.fast_owners import no_history
from oncekit.cli.deployed.executions.owners import events_of
from oncekit.cli.deployed.records.record import OPERATOR, find, retry_name
from oncekit.cli.deployed.stack import Stack
from oncekit.cli.problem import Problem
from oncekit.console.events import iso
from oncekit.console.requests import id_in
from oncekit.console.run import Run, run_of


def run_on(stack: Stack, about: str) -> Run:
    """The run of an id or ARN. Raises Problem where there is none of this stack's, or none that can be read."""
    id = None if about.startswith("arn:") else about
    execution = about if id is None else _owner(stack, id)
    client = stack.client("stepfunctions")
    if fast := stack.fast_execution(execution):
        raise Problem(no_history(stack, fast))
    if not stack.has_execution(execution):
        raise Problem(f"{execution} is not an execution of the operations of the stack {stack.name}")
    try:
        described = client.describe_execution(executionArn=execution)
        if id is not None and id_in(described["input"]) != id:  # a function may have written any owner
            raise Problem(f"{id}: its record names an owner that has another request: {execution}")
        return run_of(described, events_of(client, execution))
    except client.exceptions.ExecutionDoesNotExist as error:
        raise Problem(f"{execution}: the execution is gone; Step Functions keeps one for 90 days") from error


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
                "exitedAt": None if visit.outcome == "redriven" else iso(visit.exited_at),
                "input": visit.input,
                "output": visit.output,
                "errors": [{"error": each.error, "cause": each.cause} for each in visit.failures],
            }
            for visit in run.visits
        ],
    }


def _owner(stack: Stack, id: str) -> str:
    """The owner in the record of an id; of an operator's lock the execution that the operator started."""
    record = find(stack, id)
    owner: str = record["owner"]
    return stack.execution(retry_name(record)) if OPERATOR in owner else owner
