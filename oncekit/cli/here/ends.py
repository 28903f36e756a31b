"""How executions of `once up` end: a line for each, and what went wrong in full."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from shlex import quote
from typing import Any

from oncekit.cli.here.report import mark, message_of, outcome, why_in_progress
from oncekit.cli.outcomes import COLOURS
from oncekit.cli.paper import Paper
from oncekit.console.parts import OF_DUPLICATES
from oncekit.console.starts import WORK
from oncekit.console.story import others
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


class Ends:
    """Tells how executions of operations end: of owners at once, of duplicates when no more have come between two
    looks, those in one line that ended alike."""

    def __init__(self, paper: Paper) -> None:
        self._paper = paper
        self._held: dict[tuple[str, str], Held] = {}

    def tell(self, execution: Execution) -> None:
        end = execution.states[-1] if execution.states else ""
        is_duplicate = end in OF_DUPLICATES and not {WORK, "HandOver"} & set(execution.states)
        if (id := id_of(execution.input)) is None or not is_duplicate:
            tell_end(execution, self._paper)
        else:
            held = self._held.setdefault((id, end), Held(execution))
            held.count, held.is_new = held.count + 1, True

    def look(self, is_last: bool = False) -> None:
        for (id, end), held in list(self._held.items()):
            if held.is_new and not is_last:
                held.is_new = False
                continue
            del self._held[id, end]
            if held.count == 1:
                tell_end(held.first, self._paper)
            else:
                sign = mark(held.first)
                self._paper.line(f"{sign} {short(id, LONGEST_ID)}  {others(held.count, end)}", COLOURS[sign])


@dataclass
class Held:
    """Duplicates that ended alike, of one id."""

    first: Execution
    count: int = 0
    is_new: bool = True


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
