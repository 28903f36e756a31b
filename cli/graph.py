"""`once graph`: the state machine as SVG, with the path that a run took."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from cli.problem import Problem, clear_errors, find_template
from cli.svg import Edge, Node, drawing

ENDS = {"Succeed": "success", "Fail": "failure"}


def draw(event: str | None, output: Path | None, template: Path | None) -> int:
    path = find_template(template)
    taken: tuple[str, ...] = ()
    title = "operation"
    with clear_errors():
        if event is not None:
            taken, title = _run(event, path)
        definition = _definition(path)
    svg = drawing(nodes(definition), edges(definition), taken, title)
    if output is None:
        typer.echo(svg)
        return 0
    try:
        output.write_text(svg)
    except OSError as error:
        raise Problem(f"{output}: {error.strerror}") from error
    typer.echo(
        f"{output}: {len(definition['States'])} states" + (f", {len(taken)} on the path" if taken else ""), err=True
    )
    return 0


def _run(event: str, template: Path) -> tuple[tuple[str, ...], str]:
    from cli.run import read_event
    from local.cloud import LocalCloud

    text = read_event(event)
    with LocalCloud(template) as cloud:
        execution = cloud.run(text)
    return execution.states, Path(event).stem


def _definition(template: Path) -> dict[str, Any]:
    import yaml

    loaded: dict[str, Any] = yaml.safe_load((template.parent / "statemachine" / "operation.asl.yaml").read_text())
    return loaded


def nodes(definition: dict[str, Any]) -> list[Node]:
    """Every state, by what kind of work it does."""
    start = definition["StartAt"]
    return [
        Node(
            name, "start" if name == start else ENDS.get(state["Type"], state["Type"].lower()), state.get("Comment", "")
        )
        for name, state in definition["States"].items()
    ]


def edges(definition: dict[str, Any]) -> list[Edge]:
    """Every transition once; one that only an error takes is marked."""
    found: dict[tuple[str, str], Edge] = {}
    for name, state in definition["States"].items():
        for target, caught in _targets(state):
            known = found.get((name, target))
            found[name, target] = Edge(name, target, caught and (known is None or known.on_error))
    return list(found.values())


def _targets(state: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    for key in ("Next", "Default"):
        if key in state:
            yield state[key], False
    for choice in state.get("Choices", ()):
        yield choice["Next"], False
    for catcher in state.get("Catch", ()):
        yield catcher["Next"], True
