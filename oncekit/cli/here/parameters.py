"""The option that gives the template of the local cloud other parameters than their defaults."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from oncekit.cli.problem import Problem

Parameters = Annotated[
    list[str] | None,
    typer.Option(
        "--parameter",
        metavar="NAME=VALUE",
        help="Set a parameter of the template, such as Lane=fast; can be repeated.",
    ),
]


def given(options: Sequence[str] | None) -> dict[str, str]:
    """The values by their names; which names and values there are, the template says. Raises Problem."""
    values: dict[str, str] = {}
    for option in options or ():
        name, equals, value = option.partition("=")
        if not name or not equals:
            raise Problem(f"--parameter {option}: write NAME=VALUE, such as Lane=fast")
        if values.setdefault(name, value) != value:
            raise Problem(f"--parameter {name}: given twice, as {values[name]} and as {value}")
    return values
