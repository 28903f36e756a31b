"""The option that says which lane to start."""

from __future__ import annotations

from typing import Annotated

import typer

from oncekit.cli.problem import Problem
from oncekit.local.lanes import MACHINES, Lane

LaneOption = Annotated[
    str | None,
    typer.Option("--lane", metavar="LANE", help="fast (Express) or full (Standard): the state machine to start."),
]


def chosen(given: str | None) -> Lane | None:
    """What --lane says. Raises Problem for a lane that there is not."""
    if given is None or given in MACHINES:
        return given
    raise Problem(f"--lane {given}: there are {', '.join(MACHINES)}")
