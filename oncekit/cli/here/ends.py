"""How executions of `once up` end: a line for each, and what went wrong in full."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from shlex import quote
from typing import Any

from oncekit.cli.here.report import mark, message_of, outcome, why_in_progress
from oncekit.cli.outcomes import COLOURS
from oncekit.cli.paper import Paper
from oncekit.console.visible import short
from oncekit.contract.lanes import FAST, lane_of
from oncekit.contract.requests import id_of
from oncekit.local import Execution

LONGEST_ID = 120
"""Characters of an id on a line."""
MOST_STATES = 40
"""Of a path that is shown."""
ASKS_AN_OPERATOR = "NeedsAttention"


@contextmanager
def watching(on_end: Callable[[str, Execution], None]) -> Iterator[None]:
    """While open, each execution that ends is handed over, after the ARN of its state machine; quickly, please."""
    from oncekit.local.engine.runs import watchers
    from oncekit.local.execution import execution_of

    def watch(execution: Any) -> None:
        if execution.status != "RUNNING":
            on_end(execution.machine.arn, execution_of(execution))

    watchers.append(watch)
    try:
        yield
    finally:
        watchers.remove(watch)


def tell_end(execution: Execution, paper: Paper) -> None:
    """Outcome, id, lane, duration and path of an execution of an operation; below it, why it failed or goes on."""
    style = COLOURS[mark(execution)]
    id = id_of(execution.input)
    ended = f"{mark(execution)} {short(outcome(execution), LONGEST_ID)}"
    lane = "fast  " if lane_of(execution.arn) == FAST else ""
    head = f"{ended}  {short(id, LONGEST_ID) if id else execution.name}  {lane}{execution.seconds:.1f} s  "
    states = execution.states
    if len(states) > MOST_STATES:  # one that waits for another goes through the same states again and again
        states = (*states[: MOST_STATES // 2], "…", *states[-MOST_STATES // 2 :])
    paper.path(head, states, head_style=style)
    if why := why_in_progress(execution) if execution.status == "SUCCEEDED" else message_of(execution):
        paper.paragraph(why, 4, style)
    if id and execution.error == ASKS_AN_OPERATOR and len(id) <= LONGEST_ID:
        paper.line(f"    once show {quote(id)}", style)


def tell_failure(what: str, execution: Execution, paper: Paper) -> None:
    """What goes well here says nothing: of a recovery, the executions that it starts say enough."""
    if execution.status != "SUCCEEDED":
        paper.paragraph(f"✗ {what} failed: {outcome(execution)}: {message_of(execution)}", 0, COLOURS["✗"])
