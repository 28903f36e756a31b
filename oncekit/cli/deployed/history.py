"""`once history`: what an execution did, state by state."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from oncekit.cli.deployed.on_stack import answered, on_stack
from oncekit.cli.deployed.place import Place
from oncekit.cli.deployed.runs import run_on
from oncekit.cli.deployed.stack import Stack
from oncekit.cli.options import Json, Profile, Region, StackName
from oncekit.cli.outcomes import message_in
from oncekit.cli.terminal import Entry, short, text_of
from oncekit.console.events import iso
from oncekit.console.run import Run

About = Annotated[
    str,
    typer.Argument(metavar="ID|ARN", help="An id, tenant#operation#idempotencyKey, or the ARN of an execution."),
]


def history(
    about: About, as_json: Json = False, stack: StackName = "once", profile: Profile = None, region: Region = None
) -> None:
    """Show each state of an execution. When it was entered, its input, output and errors.

    For an id, this is the execution that has, or last had, its lock. For an execution in the fast lane, which keeps no
    history, it only says where the log is.

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
    run = run_on(stack, about)
    return {
        "execution": run.arn,
        "status": run.status,
        "startedAt": iso(run.started_at),
        "endedAt": iso(run.ended_at),
        "error": run.error,
        "cause": run.cause,
        "states": list(_states(run)),
    }


def _states(run: Run) -> Iterator[dict[str, Any]]:
    for visit in run.visits:
        yield {
            "state": visit.state,
            "enteredAt": iso(visit.entered_at),
            "exitedAt": None if visit.outcome == "redriven" else iso(visit.exited_at),
            "input": visit.input,
            "output": visit.output,
            "errors": [{"error": each.error, "cause": each.cause} for each in visit.failures],
        }


def _lines(told: dict[str, Any]) -> Iterator[str | Entry]:
    ended = f" to {told['endedAt']}" if told["endedAt"] else ""
    yield Entry("", f"{told['execution'].rpartition(':')[2]}  {told['status']}  {told['startedAt']}{ended}")
    shown = None
    for each in told["states"]:
        yield f"{each['enteredAt']}  {each['state']}"
        for name in ("input", "output"):
            if each[name] not in (None, shown):  # what goes through states unchanged is shown once
                yield Entry(f"    {name:<8}", text_of(each[name]), is_value=True)
                shown = each[name]
        for failure in each["errors"]:
            cause = failure["cause"]
            message = message_in(cause)
            yield Entry(f"    {'error':<8}", short(failure["error"] or "unknown") + (f": {message}" if message else ""))
            if message != cause:
                yield Entry(f"    {'cause':<8}", cause, is_value=True)
