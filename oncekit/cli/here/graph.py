"""`once graph`: the state machine as SVG, with the path that a run took."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from oncekit.cli.here.cloud import clear_errors, find_event, find_template, local_cloud
from oncekit.cli.here.drawing.vertices import Edge, Node
from oncekit.cli.here.lane import lane_to_start
from oncekit.cli.lanes import chosen
from oncekit.cli.options import Output, Template
from oncekit.cli.problem import Problem
from oncekit.cli.terminal import say, tell
from oncekit.local.lanes import FAST, FULL, Lane

if TYPE_CHECKING:
    from oncekit.local import Execution

MACHINES = {FULL: "operation", FAST: "fast"}
"""The name of each lane's state machine."""
ENDS = {"Succeed": "success", "Fail": "failure"}


Event = Annotated[str | None, typer.Argument(metavar="EVENT", help="A request whose path is shown.")]


def graph(
    event: Event = None,
    lane: Annotated[
        str | None, typer.Option("--lane", metavar="LANE", help="fast or full (the default): whose state machine.")
    ] = None,
    output: Output = None,
    template: Template = None,
) -> None:
    """Draw the state machine as SVG. With EVENT, also the path that its run takes.

    Both lanes have the same states; another one comes first, and other ways are taken.
    """
    raise typer.Exit(draw(event, chosen(lane) or FULL, output, template))


def draw(event: str | None, lane: Lane, output: Path | None, template: Path | None) -> int:
    from oncekit.cli.here.drawing.svg import drawing

    path = find_template(template)
    taken: tuple[str, ...] = ()
    heading = f"State machine {MACHINES[lane]}"
    if event is not None:
        from oncekit.cli.here.report import outcome

        execution = _run(event, lane, path)
        taken = execution.states
        heading += f": the path of {Path(event).stem if event != '-' else 'a request'}, {outcome(execution)}"
    definition = _definition(path, lane)
    svg = drawing(nodes(definition), edges(definition), taken, heading)
    if output is None:
        say(*svg.removesuffix("\n").split("\n"))
        return 0
    try:
        output.write_text(svg, encoding="utf-8")
    except OSError as error:
        raise Problem(f"{output}: {error.strerror}; give a file that can be written with --output") from error
    on_path = f", {len(taken)} steps on the path" if taken else ""
    tell(f"{output}: {len(definition['States'])} states{on_path}")
    return 0


def _run(event: str, lane: Lane, template: Path) -> Execution:
    from oncekit.cli.deployed.reading import read_event
    from oncekit.cli.here.progress import follow
    from oncekit.cli.paper import Paper

    text = read_event(find_event(event, template))
    with local_cloud(template) as cloud:
        return follow(cloud, cloud.start(text, lane=lane_to_start(cloud, lane)), Paper(error=True))


def _definition(template: Path, lane: Lane = FULL) -> dict[str, Any]:
    """The definition as it is deployed. Raises Problem when the template has no such state machine."""
    with clear_errors():
        from oncekit.local.deploy import rendered_definitions

        if (definition := rendered_definitions(template).get(MACHINES[lane])) is not None:
            return definition
    name = MACHINES[lane].capitalize()
    raise Problem(f"{template} has no {name}StateMachine; give --template")


def nodes(definition: dict[str, Any]) -> list[Node]:
    """Every state, by what kind of work it does; the one to start with first."""
    states = definition["States"]
    names = sorted(states, key=lambda name: bool(name != definition["StartAt"]))
    return [Node(name, _kind(states[name]), states[name].get("Comment", "")) for name in names]


def _kind(state: dict[str, Any]) -> str:
    kind = str(state["Type"])
    return "finish" if state.get("End") else ENDS.get(kind, kind.lower())


def edges(definition: dict[str, Any]) -> list[Edge]:
    """Every transition once; one that only an error takes is marked."""
    found: dict[tuple[str, str], Edge] = {}
    for name, state in definition["States"].items():
        for target, caught, reason in _targets(state):
            known = found.get((name, target))
            reasons = ", ".join(dict.fromkeys(filter(None, (known.reason if known else "", reason))))
            found[name, target] = Edge(name, target, caught and (known is None or known.on_error), reasons)
    return list(found.values())


def _targets(state: dict[str, Any]) -> Iterator[tuple[str, bool, str]]:
    for key in ("Next", "Default"):
        if key in state:
            yield state[key], False, ""
    for choice in state.get("Choices", ()):
        yield choice["Next"], False, ""
    for catcher in state.get("Catch", ()):
        yield catcher["Next"], True, " ".join(catcher["ErrorEquals"])
