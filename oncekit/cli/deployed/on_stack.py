"""How a command works on a stack: it connects, prints its answer, and ends with an exit code."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from oncekit.cli.deployed.place import Place
from oncekit.cli.deployed.records.record import Changed
from oncekit.cli.deployed.stack import NEEDED, Stack, clear_aws_errors, connect
from oncekit.cli.terminal import Entry, say_json, tell

LONGEST_ID = 400
"""Characters that are printed: no id of a request has more."""


def on_stack(place: Place, about: str, work: Callable[[Stack], int], needed: Collection[str] = NEEDED) -> int:
    """The exit code of `work` on the stack; 3 when the record has changed. `about` begins the message of a Problem."""
    with clear_aws_errors(about):
        try:
            return work(connect(place, needed))
        except Changed as changed:
            tell(f"once: {changed}")
            return 3


def answered(answer: Any, as_json: bool, *lines: str | Entry) -> int:
    """Print an answer as JSON, or as lines for people."""
    if as_json:
        say_json(answer, indent=2)
        return 0
    from oncekit.cli.paper import Paper

    paper = Paper(error=False)
    for line in lines:
        if isinstance(line, Entry):
            paper.entry(line)
        else:
            paper.line(line)
    return 0
