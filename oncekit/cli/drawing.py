"""A picture of a state machine (SVG), with the path of a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from oncekit.cli.user_files import put
from oncekit.local.lanes import FAST, FULL, Lane
from oncekit.problem import Problem

if TYPE_CHECKING:
    from oncekit.console.run import Run

MACHINES = {FULL: "operation", FAST: "fast"}
"""The name of each lane's state machine."""

Draw = Annotated[
    Path | None,
    typer.Option(
        "--draw",
        metavar="FILE",
        help="Draw the state machine as SVG, with the path of the run (- prints it).",
    ),
]


def definition_of(template: Path, lane: Lane = FULL) -> dict[str, Any]:
    """The definition as it is deployed. Raises Problem when the template has no such state machine."""
    from oncekit.cli.template import clear_errors

    with clear_errors():
        from oncekit.local.deploy import rendered_definitions

        if (definition := rendered_definitions(template).get(MACHINES[lane])) is not None:
            return definition
    raise Problem(f"{template} has no {MACHINES[lane].capitalize()}StateMachine; give --template")


def draw(output: Path, definition: Any, lane: Lane, run: Run | None = None, name: str = "") -> None:
    """Write the picture of a machine, or of a run of it. Raises Problem where the file cannot be written."""
    on_path = f", {len(run.path)} steps on the path" if run is not None and run.path else ""
    put(output, _drawn(definition, lane, run, name), f"{len(definition['States'])} states{on_path}")


def _drawn(definition: Any, lane: Lane, run: Run | None, name: str) -> str:
    from oncekit.console.picture import picture

    heading = f"State machine {MACHINES[lane]}"
    if run is not None:
        from oncekit.console.run_view import kind_and_outcome
        from oncekit.console.summary import part_of

        heading += f": the path of {name}, {kind_and_outcome(run, part_of(run))[1]}"
    return picture(definition, run, heading)
