"""Options and arguments that several commands have, and what is made of their values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from oncekit.contract.lanes import FAST, FULL, Lane
from oncekit.problem import Problem

Template = Annotated[
    Path | None,
    typer.Option(
        "--template",
        metavar="FILE",
        help="The SAM template; by default that of `once init` or template.yaml, here or in a parent folder.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output, and nothing else.")]
OptionalId = Annotated[
    str | None, typer.Argument(metavar="ID", help="The id, tenant#operation#idempotencyKey; quote it in a shell.")
]
Id = Annotated[str, typer.Argument(metavar="ID", help="The id, tenant#operation#idempotencyKey; quote it in a shell.")]
StackName = Annotated[str, typer.Option("--stack", metavar="NAME", envvar="ONCE_STACK", help="The deployed stack.")]
Profile = Annotated[str | None, typer.Option("--profile", metavar="NAME", help="The AWS profile.")]
Region = Annotated[str | None, typer.Option("--region", metavar="NAME", help="The AWS region.")]
Because = Annotated[
    str | None,
    typer.Option(
        "--because", metavar="TEXT", help="Why you decide so: kept with the record, beside who you are and the time."
    ),
]
Refusal = Annotated[
    str | None,
    typer.Option(
        "--error",
        metavar="NAME",
        help="With --rejected: those with this error, such as Unavailable or UNREADABLE.",
    ),
]
LaneOption = Annotated[
    Lane | None,
    typer.Option(
        "--lane",
        metavar="LANE",
        help="The state machine to start: fast (Express) or full (Standard).  [default: the parameter Lane]",
    ),
]
Parameters = Annotated[
    list[str] | None,
    typer.Option(
        "--parameter",
        metavar="NAME=VALUE",
        help="Set a parameter of the template, such as Lane=fast; can be repeated.",
    ),
]


def lane_to_start(given: Lane | None, parameters: Mapping[str, str]) -> Lane:
    """The lane of --lane, or else the one that the triggers start."""
    return given or (FAST if parameters.get("Lane") == FAST else FULL)


def values_of(options: Sequence[str] | None) -> dict[str, str]:
    """Those of --parameter by their names; which names and values there are, the template says. Raises Problem."""
    values: dict[str, str] = {}
    for option in options or ():
        name, equals, value = option.partition("=")
        if not name or not equals:
            raise Problem(f"--parameter {option}: write NAME=VALUE, such as Lane=fast")
        if values.setdefault(name, value) != value:
            raise Problem(f"--parameter {name}: given twice, as {values[name]} and as {value}")
    return values
