"""How a command works on a stack: it connects, prints its answer, and ends with an exit code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

from oncekit.cli.terminal import Entry, say_json, tell
from oncekit.stack.aws_errors import clear_aws_errors
from oncekit.stack.records import Changed
from oncekit.stack.session import Place
from oncekit.stack.stack import Stack, connect

CONFLICT = 3


@contextmanager
def on_stack(place: Place, about: str = "", in_it: bool = True) -> Iterator[Stack]:
    """Once's stack at a place, or with `in_it` false the one that is named.

    What goes wrong meanwhile is a Problem that begins with `about`, or ends the command with 3 where a record has
    changed.
    """
    with clear_aws_errors(about):
        try:
            yield connect(place, in_it)
        except Changed as changed:
            tell(f"once: {changed}")
            raise typer.Exit(CONFLICT) from changed


def answered(answer: Any, as_json: bool, *lines: str | Entry) -> int:
    """Print an answer as JSON, or as lines for people."""
    if as_json:
        say_json(answer, indent=2)
        return 0
    from oncekit.cli.paper import Paper

    Paper(error=False).entries(lines)
    return 0
