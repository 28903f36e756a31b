"""The option that says which lane to start, and the lane that is started without it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import typer

from oncekit.cli.problem import Problem
from oncekit.local.lanes import FULL, MACHINES, Lane

LaneOption = Annotated[
    str | None,
    typer.Option(
        "--lane",
        metavar="LANE",
        autocompletion=lambda: list(MACHINES),
        help="The state machine to start: fast (Express) or full (Standard).  [default: the parameter Lane]",
    ),
]


def chosen(given: str | None) -> Lane | None:
    """What --lane says. Raises Problem for a lane that there is not."""
    if given is None or given in MACHINES:
        return given
    raise Problem(f"--lane {given}: there are {', '.join(MACHINES)}")


def lane_to_start(given: Lane | None, parameters: Mapping[str, str]) -> Lane:
    """The lane of --lane, or else the one that the triggers start."""
    return given or chosen(parameters.get("Lane")) or FULL
