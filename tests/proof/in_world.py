"""What tests of the proof do in a world, which has a process of its own: a test session has a local cloud open."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from oncekit.local.patching import replaced
from oncekit.proof.simulation import outcomes, plans, schedules
from oncekit.proof.simulation.announcements import Announcements
from oncekit.proof.simulation.cells import Cell, Place, cells_at, places_of, strikes_of
from oncekit.proof.simulation.paths import PATHS
from oncekit.proof.simulation.paths import Path as Way
from oncekit.proof.simulation.schedules import Outcome
from oncekit.proof.simulation.world import ROOT, World, opened


def done(root: Path, act: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """Does it in this process's world, with the machines of the project in a folder."""
    world = opened()
    if root == ROOT:
        return act(world, *arguments)
    with world.cloud.deployed_with({}, root / "template.yaml"):
        return act(world, *arguments)


def _way(name: str) -> Way:
    return next(each for each in PATHS if each.name == name)


def cells(world: World, path: str, kinds: list[str], faults: list[str], label: str = "") -> list[Cell]:
    """Some cells of a path; no label: everywhere."""
    return [
        each
        for place, fault in strikes_of(world, _way(path))
        if place.kind in kinds and label in place.label and fault in faults
        for each in cells_at(world, _way(path), place, fault)
    ]


def cells_of_another_library(world: World, old: str, new: str, path: str, fault: str, label: str) -> list[Cell]:
    """Some cells of a path, with a text of the library's direct lane replaced by another one."""
    from once import direct

    text = Path(direct.__file__).read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{text.count(old)} times in the library: {old}"
    named = {"__name__": direct.__name__}
    exec(compile(text.replace(old, new), direct.__file__, "exec", dont_inherit=True), named)
    named |= {name: vars(direct)[name] for name in ("client", "random", "time", "uuid", "_invocations")}
    with replaced(*((direct, name, named[name]) for name in ("once", "invoked"))):
        return cells(world, path, ["point"], [fault], label)


def cells_of_other_announcements(world: World, root: Path, path: str, fault: str, label: str) -> list[Cell]:
    """Some cells of a path, held against the announcements of another project."""
    before, world.announcements = world.announcements, Announcements(root)
    try:
        return cells(world, path, ["call", "boundary"], [fault], label)
    finally:
        world.announcements = before


def section(world: World, path: str) -> str:
    """The outcomes of all cells of a path, as they are kept."""
    strikes = strikes_of(world, _way(path))
    return outcomes.section([each for strike in strikes for each in cells_at(world, _way(path), *strike)])


def counts(world: World, path: str) -> tuple[int, int]:
    """How often business logic is started on a path without faults, and how many effects it has."""
    places_of(world, _way(path))
    return len(world.journal.starts), world.business.effects()


def places(world: World, path: str) -> list[Place]:
    return places_of(world, _way(path))


def run_seeds(world: World, first: int, count: int) -> list[Outcome]:
    return [schedules.run_plan(world, plans.draw(seed)) for seed in range(first, first + count)]


def shrink(world: World, first: int, count: int) -> tuple[Outcome, Outcome]:
    """The first schedule that fails, and the smallest one that does."""
    tried = (schedules.run_plan(world, plans.draw(seed)) for seed in range(first, first + count))
    failing = next(each for each in tried if each.faults)
    return failing, schedules.shrunk(world, failing)
