"""The crash matrix: every path, every place in it, every fault; and what it came to.

The places are those of a recorded run: calls through the service door, states entered and left, points of functions. So
a new state is covered without anyone adding it.

    python -m proof.matrix [PATH...]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

from proof import checker
from proof.paths import PATHS, Path, prepare
from proof.weather import BOUNDARY_FAULTS, CALL_FAULTS, POINT_FAULTS, Killing, Recording, Striking
from proof.world import Weather, World

FAULTS = {"call": CALL_FAULTS, "boundary": BOUNDARY_FAULTS, "point": POINT_FAULTS}
LETTERS = {"COMPLETED": "C", "FAILED": "F", "QUARANTINED": "Q"}


@dataclass(frozen=True)
class Place:
    """The n-th call, boundary or point of a path."""

    kind: str
    number: int
    label: str

    @property
    def faults(self) -> Iterator[str]:
        for fault in FAULTS[self.kind]:
            # A function that is called late is one that hangs at its beginning.
            if fault == "late" and self.label.endswith(" invoke"):
                continue
            if fault.startswith("connection") and not self.label.partition(" ")[2].startswith(("before ", "after ")):
                continue
            yield fault


@dataclass(frozen=True)
class Cell:
    """A path with one fault at one place, and what it came to."""

    path: str
    place: Place
    fault: str
    outcome: str
    """`completed`, `failed`, `quarantined`, `refused`; or `stuck`, `lost`, `twice`, `broken`."""
    faults: tuple[str, ...]
    seconds: float | None
    """Virtual, from the fault until the last request had come to its end."""

    @property
    def is_bad(self) -> bool:
        return bool(self.faults)

    def __str__(self) -> str:
        return (
            f"{self.path} | {self.place.label} #{self.place.number} ({self.place.kind}) | {self.fault}: {self.outcome}"
        )


def places_of(world: World, path: Path) -> list[Place]:
    """Every place of a run without faults."""
    recording = Recording()
    _run(world, path, recording)
    kinds = {"call": recording.calls, "boundary": recording.boundaries, "point": recording.points}
    return [Place(kind, number, label) for kind, labels in kinds.items() for number, label in enumerate(labels)]


def cell(world: World, path: Path, place: Place, fault: str) -> Cell:
    """Run a path with a fault."""
    striking = _run(world, path, None, (place, fault))
    assert isinstance(striking, Striking)
    faults = world.faults()
    kinds = {each.kind for each in faults}
    outcome = next((kind for kind in ("twice", "lost", "stuck", "broken") if kind in kinds), None) or outcome_of(world)
    ends = [write.at for write in world.journal.writes if write.new and write.new["status"] in LETTERS]
    seconds = max(ends) - striking.struck_at if ends and striking.struck_at is not None else None
    return Cell(
        path.name, place, fault, outcome, tuple(map(str, faults)), None if seconds is None else max(0.0, seconds)
    )


def _run(world: World, path: Path, recording: Recording | None, strike: tuple[Place, str] | None = None) -> Weather:
    world.begin(Weather())
    with world.running():
        prepare(world, path)
        under = _Both(recording, Killing(world, path.killed)) if path.killed else recording or Weather()
        weather = Striking(world, strike[0].kind, strike[0].number, strike[1], under) if strike else under
        world.weather = weather
        for number, request in enumerate(path.requests):
            if number:
                world.pass_time(path.apart)
            world.start(request, f"request-{number}")
        world.recover()
        if strike is not None:
            world.weather = Weather()
            for number, request in enumerate(path.all_requests):
                world.start(request, f"duplicate-{number}")
                world.turns.rest()
            world.recover()
    return weather


class _Both(Weather):
    """A recording, if any, of a path on which an execution is killed."""

    def __init__(self, recording: Recording | None, killing: Killing) -> None:
        self.at_boundary = (recording or Weather()).at_boundary  # type: ignore[method-assign]
        self.at_point = (recording or Weather()).at_point  # type: ignore[method-assign]
        outer = recording or Weather()
        self.at_call = lambda call, proceed: outer.at_call(call, lambda: killing.at_call(call, proceed))  # type: ignore[method-assign]


def outcome_of(world: World) -> str:
    """In words, what the requests came to."""
    statuses = {record["status"] for record in checker.all_records(world.cloud).values()}
    if world.cloud.rejected():
        return "refused"
    return max(statuses).lower() if statuses else "nothing"


# ---- all of it, in processes ----

_world: World | None = None


def _open_world() -> None:
    global _world
    _world = World().__enter__()


def _cells_by_name(names: tuple[str, int, int]) -> list[Cell]:
    """The cells of a path whose number is `part` of `parts`."""
    name, part, parts = names
    assert _world is not None
    path = next(path for path in PATHS if path.name == name)
    todo = [(place, fault) for place in places_of(_world, path) for fault in place.faults]
    return [cell(_world, path, *each) for each in todo[part::parts]]


def run(names: Sequence[str] = (), processes: int = 2, parts: int = 4) -> list[Cell]:
    """Every cell of the named paths, of all when none is named."""
    wanted = [path.name for path in PATHS if not names or path.name in names]
    work = [(name, part, parts) for name in wanted for part in range(parts)]
    with ProcessPoolExecutor(processes, get_context("spawn"), _open_world) as pool:
        return [each for cells in pool.map(_cells_by_name, work) for each in cells]


# ---- what is printed ----


def table(cells: Iterable[Cell]) -> list[str]:
    """A row for each place of a path: what came of each fault there."""
    rows: dict[tuple[str, Place], list[Cell]] = defaultdict(list)
    for each in cells:
        rows[each.path, each.place].append(each)
    lines, path = [], ""
    for (name, place), row in sorted(rows.items(), key=lambda row: (row[0][0], row[0][1].kind, row[0][1].number)):
        if name != path:
            path = name
            lines.append(path)
        outcomes = " ".join(f"{each.fault}: {'✗ ' if each.is_bad else ''}{each.outcome};" for each in row)
        lines.append(f"  {place.label:42} {outcomes}")
    return lines


def summary(cells: Sequence[Cell], seconds: float) -> list[str]:
    """What came of how many, and the longest time to an end for each fault."""
    outcomes = Counter(each.outcome for each in cells)
    told = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.most_common())
    lines = [f"matrix: {len({c.path for c in cells})} paths, {len(cells)} cells in {seconds:.0f} s: {told}"]
    longest: dict[str, Cell] = {}
    for each in cells:
        if each.seconds is not None and each.seconds >= (longest.get(each.fault, each).seconds or 0):
            longest[each.fault] = each
    lines += [
        f"  {fault:26} {each.seconds or 0:8.0f} s to the end at most: {each.path}, {each.place.label}"
        for fault, each in longest.items()
    ]
    return lines


def main(names: Sequence[str] | None = None) -> int:
    """Run the crash matrix; 1 when a cell is bad."""
    if names is None:
        parser = argparse.ArgumentParser(prog="python -m proof.matrix", description=main.__doc__)
        parser.add_argument("paths", nargs="*", metavar="PATH", help=", ".join(path.name for path in PATHS))
        names = parser.parse_args().paths
    began = time.monotonic()
    cells = run(names)
    bad = [each for each in cells if each.is_bad]
    print("\n".join(table(cells)))
    print("\n".join(summary(cells, time.monotonic() - began)))
    for each in bad:
        print(f"✗ {each}")
        for fault in each.faults:
            print(f"    {fault}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
