"""`once graph`: the state machine as a picture, with the path that a run took; or all of a run as a page."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from oncekit.cli.here.cloud import clear_errors, find_event, find_template, local_cloud
from oncekit.cli.here.lane import lane_to_start
from oncekit.cli.lanes import chosen
from oncekit.cli.options import Output, Profile, Region, StackName, Template
from oncekit.cli.problem import Problem
from oncekit.cli.terminal import say, tell
from oncekit.local.lanes import FAST, FULL, Lane

if TYPE_CHECKING:
    from oncekit.console.run import Run

MACHINES = {FULL: "operation", FAST: "fast"}
"""The name of each lane's state machine."""
PAGE = (".html", ".htm")


Event = Annotated[
    str | None,
    typer.Argument(metavar="EVENT|ID|ARN", help="A request to run here, or the id or ARN of a run in the stack."),
]
NoPayloads = Annotated[bool, typer.Option("--no-payloads", help="Leave payloads, results and answers out of the page.")]


def graph(
    event: Event = None,
    lane: Annotated[
        str | None,
        typer.Option("--lane", metavar="LANE", help="Draw the state machine of this lane: fast or full (the default)."),
    ] = None,
    output: Output = None,
    no_payloads: NoPayloads = False,
    template: Template = None,
    stack: StackName = "once",
    profile: Profile = None,
    region: Region = None,
) -> None:
    """Draw the state machine as SVG. With EVENT, also the path that its run takes.

    With an id (tenant#operation#idempotencyKey) or the ARN of an execution, also the path that it took in a deployed
    stack or `once up`. With `-o FILE.html`, everything that is known about the run, in one file that needs no network.
    Both lanes have the same states, but start with different ones and take different paths.
    """
    run: Run | None
    shown = chosen(lane) or FULL
    if event is not None and is_of_a_stack(event):
        shown = FULL  # of the other one no history is kept
        definition, run = _on_stack(event, stack, profile, region)
    else:
        definition, run = _here(event, shown, find_template(template))
    name = "" if event is None or run is None else _name(event, run)
    _write(_drawn(definition, run, name, shown, output, not no_payloads), definition, run, output)


def is_of_a_stack(about: str) -> bool:
    """Whether this is an execution or an id, not a file."""
    return about.startswith("arn:") or (about.count("#") >= 2 and not Path(about).exists())


def _on_stack(about: str, stack: str, profile: str | None, region: str | None) -> tuple[Any, Run]:
    from oncekit.cli.deployed.on_stack import on_stack
    from oncekit.cli.deployed.place import Place
    from oncekit.cli.deployed.runs import definition_of, run_on
    from oncekit.cli.deployed.stack import Stack

    found: list[tuple[Any, Run]] = []

    def work(deployed: Stack) -> int:
        run = run_on(deployed, about)
        found.append((definition_of(deployed, run), run))
        return 0

    on_stack(Place(stack, profile, region), about, work)
    return found[0]


def _here(event: str | None, lane: Lane, template: Path) -> tuple[dict[str, Any], Run | None]:
    from oncekit.console.here import run_here

    if event is None:
        return definition_of(template, lane), None
    from oncekit.cli.deployed.reading import read_event
    from oncekit.cli.here.progress import follow
    from oncekit.cli.paper import Paper

    text = read_event(find_event(event, template))
    with local_cloud(template) as cloud:
        run = run_here(follow(cloud, cloud.start(text, lane=lane_to_start(cloud, lane)), Paper(error=True)))
    return definition_of(template, lane), run


def definition_of(template: Path, lane: Lane = FULL) -> dict[str, Any]:
    """The definition as it is deployed. Raises Problem when the template has no such state machine."""
    with clear_errors():
        from oncekit.local.deploy import rendered_definitions

        if (definition := rendered_definitions(template).get(MACHINES[lane])) is not None:
            return definition
    name = MACHINES[lane].capitalize()
    raise Problem(f"{template} has no {name}StateMachine; give --template")


def _name(event: str, run: Run) -> str:
    return run.name if is_of_a_stack(event) else "a request" if event == "-" else Path(event).stem


def _drawn(definition: Any, run: Run | None, name: str, lane: Lane, output: Path | None, payloads: bool) -> str:
    if output is not None and output.suffix.lower() in PAGE:
        from oncekit.console.export import exported

        if run is None:
            raise Problem(f"{output}: a page shows a run; give an event, an id or an execution, or write to .svg")
        return exported(run, definition, datetime.datetime.now(datetime.UTC), payloads=payloads)
    from oncekit.console.picture import picture

    heading = f"State machine {MACHINES[lane]}"
    if run is not None:
        from oncekit.console.run_view import kind_and_outcome

        heading += f": the path of {name}, {kind_and_outcome(run.status, run.output, run.error)[1]}"
    return picture(definition, run, heading)


def _write(text: str, definition: Any, run: Run | None, output: Path | None) -> None:
    if output is None:
        say(*text.removesuffix("\n").split("\n"))
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Problem(f"{output}: {error.strerror}; give a file that can be written with --output") from error
    on_path = f", {len(run.path)} steps on the path" if run is not None and run.path else ""
    tell(f"{output}: {len(definition['States'])} states{on_path}")
