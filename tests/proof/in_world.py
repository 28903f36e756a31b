"""What tests of the proof do in a world: `python in_world.py FOLDER` opens that of the project in a folder.

Each line of standard input is JSON, [FOLDER, FUNCTION, ARGUMENTS], and what the function returns is a line of standard
output. Another project's machines are deployed for that call. An error ends the process.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from oncekit.proof.simulation import outcomes, plans, schedules
from oncekit.proof.simulation.cells import cells_at, places_of, strikes_of
from oncekit.proof.simulation.fast_paths import PATHS
from oncekit.proof.simulation.injector import Injector
from oncekit.proof.simulation.world import World


def cells(world: World, path: str, kinds: list[str], faults: list[str], label: str = "") -> list[list[Any]]:
    """Place, fault, outcome and broken promises of some cells of a path; no faults: all; no label: everywhere."""
    [wanted] = [each for each in PATHS if each.name == path]
    found = [
        each
        for place, fault in strikes_of(world, wanted)
        if place.kind in kinds and label in place.label and (not faults or fault in faults)
        for each in cells_at(world, wanted, place, fault)
    ]
    return [[each.place.label, each.fault, each.outcome, list(each.faults)] for each in found]


def section(world: World, path: str) -> str:
    """The outcomes of all cells of a path, as they are kept."""
    [wanted] = [each for each in PATHS if each.name == path]
    strikes = strikes_of(world, wanted)
    return outcomes.section([each for strike in strikes for each in cells_at(world, wanted, *strike)])


def counts(world: World, path: str) -> list[int]:
    """How often business logic is started on a path without faults, and how many effects it has."""
    [wanted] = [each for each in PATHS if each.name == path]
    places_of(world, wanted)
    return [len(world.journal.starts), world.business.effects()]


def places(world: World, path: str) -> list[list[str]]:
    [wanted] = [each for each in PATHS if each.name == path]
    return [[each.kind, each.label] for each in places_of(world, wanted)]


def schedule(world: World, first: int, count: int) -> list[list[Any]]:
    """Seed, hash of the trace and broken promises of each."""
    outcomes = [schedules.run_plan(world, plans.draw(seed)) for seed in range(first, first + count)]
    return [[each.plan.seed, each.hash, list(each.faults)] for each in outcomes]


def shrink(world: World, first: int, count: int) -> list[Any]:
    """The first seed that fails: its plan's size, that of the smallest plan that fails, and what that breaks."""
    for seed in range(first, first + count):
        outcome = schedules.run_plan(world, plans.draw(seed))
        if outcome.faults:
            smallest = schedules.shrunk(world, outcome)
            return [seed, outcome.plan.size, smallest.plan.size, list(smallest.faults)]
    return []


def sent(world: World, requests: list[list[Any]]) -> list[str]:
    """Broken promises after some requests, each with the name of its execution, one after the other."""
    world.begin(Injector())
    with world.running():
        for given, name in requests:
            world.start(given, name)
            world.pass_time(1.0)
        world.recover()
    return [str(each) for each in world.faults()]


def done(world: World, root: Path, asked: str) -> Any:
    folder, name, arguments = json.loads(asked)
    if Path(folder) == root:
        return globals()[name](world, *arguments)
    with world.cloud.deployed_with({}, Path(folder) / "template.yaml"):
        return globals()[name](world, *arguments)


def main() -> None:
    root, told = Path(sys.argv[1]), sys.stdout
    with World(root / "template.yaml") as world:
        for asked in sys.stdin:
            print(json.dumps(done(world, root, asked)), file=told, flush=True)


if __name__ == "__main__":
    main()
