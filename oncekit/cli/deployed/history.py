"""`once history`: what an execution did, state by state; states.py reads it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from oncekit.cli.deployed.fast_owners import no_history
from oncekit.cli.deployed.on_stack import answered, on_stack
from oncekit.cli.deployed.owners import iso
from oncekit.cli.deployed.place import Place
from oncekit.cli.deployed.records import OPERATOR, find, retry_name
from oncekit.cli.deployed.stack import Stack
from oncekit.cli.deployed.states import states_of
from oncekit.cli.options import Json, Profile, Region, StackName
from oncekit.cli.problem import Problem
from oncekit.cli.requests import id_in
from oncekit.cli.terminal import short

LONG = 400
"""Characters of an input or output that people are shown; --json has all."""
LONGEST_CAUSE = 1000

About = Annotated[
    str,
    typer.Argument(metavar="ID|ARN", help="An id, tenant#operation#idempotencyKey, or the ARN of an execution."),
]


def history(
    about: About, as_json: Json = False, stack: StackName = "once", profile: Profile = None, region: Region = None
) -> None:
    """Show each state of an execution. When it was entered, its input, output and errors.

    Of an id: the execution that has, or last had, its lock. Of one in the fast lane nothing can be shown: an Express
    execution keeps no history; it says where the log is.

    JSON: {execution, status, startedAt, endedAt, error, cause, states: [{state, enteredAt, exitedAt, input, output,
    errors: [{error, cause}]}]}.
    """
    raise typer.Exit(_history(Place(stack, profile, region), about, as_json))


def _history(place: Place, about: str, as_json: bool) -> int:
    def work(stack: Stack) -> int:
        told = _told(stack, about)
        return answered(told, as_json, *_lines(told))

    return on_stack(place, about, work)


def _told(stack: Stack, about: str) -> dict[str, Any]:
    id = None if about.startswith("arn:") else about
    execution = about if id is None else _owner(stack, id)
    client = stack.client("stepfunctions")
    if fast := stack.fast_execution(execution):
        raise Problem(no_history(stack, fast))
    if not stack.has_execution(execution):
        raise Problem(f"{execution} is no execution of the operations of the stack {stack.name}")
    try:
        described = client.describe_execution(executionArn=execution)
        if id is not None and id_in(described["input"]) != id:  # a function may have written any owner
            raise Problem(f"{id}: its record names an owner that has another request: {execution}")
        return {
            "execution": execution,
            "status": described["status"],
            "startedAt": iso(described["startDate"]),
            "endedAt": iso(described.get("stopDate")),
            "error": described.get("error"),
            "cause": described.get("cause"),
            "states": states_of(stack, execution),
        }
    except client.exceptions.ExecutionDoesNotExist as error:
        raise Problem(f"{execution}: the execution is gone; Step Functions keeps one for 90 days") from error


def _owner(stack: Stack, id: str) -> str:
    """The owner in the record of an id; of an operator's lock the execution that the operator started."""
    record = find(stack, id)
    owner: str = record["owner"]
    return stack.execution(retry_name(record)) if OPERATOR in owner else owner


def _lines(told: dict[str, Any]) -> Iterator[str]:
    ended = f" to {told['endedAt']}" if told["endedAt"] else ""
    yield f"{told['execution'].rpartition(':')[2]}  {told['status']}  {told['startedAt']}{ended}"
    shown = None
    for each in told["states"]:
        yield f"{each['enteredAt']}  {each['state']}"
        for name in ("input", "output"):
            if each[name] not in (None, shown):  # what goes through states unchanged is shown once
                yield f"    {name:<8}{short(each[name], LONG)}"
                shown = each[name]
        for failure in each["errors"]:
            cause = f": {short(failure['cause'], LONGEST_CAUSE)}" if failure["cause"] else ""
            yield f"    {'error':<8}{short(failure['error'] or 'unknown')}{cause}"
