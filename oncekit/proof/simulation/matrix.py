"""The crash matrix: every path, every place in it, every fault; and what it came to.

The places are those of a recorded run: calls through the service door, states entered and left, points of functions. So
a new state is covered without anyone adding it.

    python -m oncekit.proof.simulation.matrix [PATH...]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

from oncekit.proof.simulation import checker, fault_weather
from oncekit.proof.simulation.fault_weather import Killing, Recording, Striking
from oncekit.proof.simulation.faults import Fault
from oncekit.proof.simulation.late import UNTOUCHED, WRITES, Held
from oncekit.proof.simulation.operators import Operators
from oncekit.proof.simulation.paths import PATHS, Path, prepare, run_on
from oncekit.proof.simulation.weather import Weather
from oncekit.proof.simulation.world import World

FAULTS = {
    "call": fault_weather.CALL_FAULTS,
    "boundary": fault_weather.BOUNDARY_FAULTS,
    "point": fault_weather.POINT_FAULTS,
}
ENDS = ("COMPLETED", "FAILED", "QUARANTINED")
LATE = "arrives late"
HARMLESS = (
    *("never arrives", "answer lost", "fails once", "fails thrice", "fails for good", "slow", "late"),
    *("down for hours", LATE),
)
"""They kill nobody: at a call that is not business logic's, the records come to the ends they come to without them."""


Strike = Callable[[Weather], Weather]
"""Lays a fault over a weather."""


@dataclass(frozen=True)
class Place:
    """The n-th call, boundary or point of a path."""

    kind: str
    number: int
    label: str

    @property
    def action(self) -> str:
        return self.label.rpartition(" ")[2]

    @property
    def state(self) -> str:
        return self.label.partition(" ")[0]

    def faults(self, path: Path, *, is_first: bool) -> Iterator[str]:
        """What may go wrong here; `is_first` says that the path was at no such place before."""
        if not is_first and set(self.label.split(" ")) & set(UNTOUCHED):
            return
        for fault in self._possible(path, is_first):
            if not path.faults or fault in path.faults:
                yield fault

    def _possible(self, path: Path, is_first: bool) -> Iterator[str]:
        for fault in FAULTS[self.kind]:
            # A function that is called late is one that hangs at its beginning.
            if fault == "late" and self.action == "invoke":
                continue
            if fault.startswith("connection") and not self.label.partition(" ")[2].startswith(("before ", "after ")):
                continue
            yield fault
        sends = self.kind == "call" or " before " in self.label
        if sends and self.action in WRITES:
            yield LATE
        if self.kind != "call":
            return
        if path.enduring and is_first and self.state not in UNTOUCHED:
            yield from fault_weather.FIRST_FAULTS
        if is_first and self.action in fault_weather.ASKING:
            yield from (
                fault_weather.ASKING_FAULTS if self.action != "redrive_execution" else fault_weather.ASKING_FAULTS[:1]
            )
        if path.operated and self.state not in UNTOUCHED:
            yield from fault_weather.OPERATOR_FAULTS


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


def strikes_of(world: World, path: Path) -> list[tuple[Place, str]]:
    """Every fault at every place of a path."""
    seen: set[str] = set()
    strikes = []
    for place in places_of(world, path):
        strikes += [(place, fault) for fault in place.faults(path, is_first=place.label not in seen)]
        seen.add(place.label)
    return strikes


def cells(world: World, path: Path, place: Place, fault: str) -> Iterator[Cell]:
    """Run a path with a fault; with each time at which it may come, if it is one that comes late."""
    if fault != LATE:
        yield _cell(world, path, place, fault, lambda under: Striking(world, place.kind, place.number, fault, under))
        return
    lost = Held(world, place.kind, place.number, None, Weather())
    yield _cell(world, path, place, f"{LATE}: never", lambda under: _over(lost, under))
    for later in range(lost.later + 1):
        held = Held(world, place.kind, place.number, later, Weather())
        yield _cell(world, path, place, f"{LATE}: before call {later}", lambda under, held=held: _over(held, under))  # type: ignore[misc]


def _over(held: Held, under: Weather) -> Held:
    held.under = under
    return held


def _cell(world: World, path: Path, place: Place, fault: str, strike: Strike) -> Cell:
    struck, stuck = _run(world, path, None, strike)
    assert isinstance(struck, Striking | Held)
    operators = struck.operators if isinstance(struck, Striking) else None
    faults = [*world.faults(), *stuck, *_end_faults(world, path, place, fault)]
    faults = list(operators.tolerated(faults)) if operators else faults
    kinds = {each.kind for each in faults}
    outcome = next((kind for kind in ("twice", "lost", "stuck", "broken") if kind in kinds), None) or outcome_of(world)
    ends = [write.at for write in world.journal.writes if write.new and write.new["status"] in ENDS]
    seconds = max(0.0, max(ends) - struck.struck_at) if ends and struck.struck_at is not None else None
    return Cell(path.name, place, fault, outcome, tuple(map(str, faults)), seconds)


def _end_faults(world: World, path: Path, place: Place, fault: str) -> Iterator[Fault]:
    """What harms nothing changes no end."""
    kind = fault.partition(":")[0]
    if kind not in HARMLESS or (kind == "down for hours" and place.action in fault_weather.ASKING):
        return
    if place.kind == "point" or place.action != "invoke":
        statuses = tuple(sorted({str(record["status"]) for record in checker.all_records(world.cloud).values()}))
        if statuses != path.ends:
            yield Fault("P5", "broken", f"came to {statuses}, and not to {path.ends}, by nothing that harms")


def _run(
    world: World, path: Path, recording: Recording | None, strike: Strike | None = None
) -> tuple[Weather, list[Fault]]:
    """The weather that there was, and what was stuck before anybody sent anything again."""
    world.begin(Weather(), climate=path.climate)
    with world.running():
        prepare(world, path)
        under = _Both(recording, Killing(world, path.killed)) if path.killed else recording or Weather()
        struck = strike(under) if strike else under
        if isinstance(struck, Striking):
            struck.operators = Operators(world, checker.id_of(path.all_requests[0]))
        world.weather = struck
        for number, request in enumerate(path.requests):
            if number and path.apart:
                world.pass_time(path.apart)
            world.start(request, f"request-{number}")
        world.recover()
        if isinstance(struck, Striking) and struck.down_until:
            world.pass_time(max(0.0, struck.down_until - world.turns.now()))
            world.recover()
        stuck = world.unfinished()
        if strike is not None:
            if isinstance(struck, Striking):
                world.weather = Weather()
            for number, request in enumerate(path.all_requests):
                world.start(request, f"duplicate-{number}")
                world.turns.rest()
            if isinstance(struck, Held):
                struck.arrive()
            world.recover()
        run_on(world, path)
    return struck, stuck


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
    todo = strikes_of(_world, path)[part::parts]
    return [each for strike in todo for each in cells(_world, path, *strike)]


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
        outcomes = " ".join(_told(row))
        lines.append(f"  {place.label:42} {outcomes}")
    return lines


def _told(row: Sequence[Cell]) -> Iterator[str]:
    """Each fault and its outcome; how many times one came late is told once for each outcome."""
    late = Counter(each.outcome for each in row if each.fault.startswith(LATE) and not each.is_bad)
    for each in row:
        if each.is_bad or not each.fault.startswith(LATE):
            yield f"{each.fault}: {'✗ ' if each.is_bad else ''}{each.outcome};"
    yield from (f"{LATE}, at {count} places: {outcome};" for outcome, count in late.items())


def summary(cells: Sequence[Cell], seconds: float) -> list[str]:
    """What came of how many, and the longest time to an end for each fault."""
    outcomes = Counter(each.outcome for each in cells)
    told = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.most_common())
    lines = [f"matrix: {len({c.path for c in cells})} paths, {len(cells)} cells in {seconds:.0f} s: {told}"]
    longest: dict[str, Cell] = {}
    for each in cells:
        fault = each.fault.partition(":")[0]
        if each.seconds is not None and each.seconds >= (longest.get(fault, each).seconds or 0):
            longest[fault] = each
    lines += [
        f"  {fault:26} {each.seconds or 0:8.0f} s to the end at most: {each.path}, {each.place.label}"
        for fault, each in longest.items()
    ]
    return lines


def main(names: Sequence[str] | None = None) -> int:
    """Run the crash matrix; 1 when a cell is bad."""
    if names is None:
        parser = argparse.ArgumentParser(prog="python -m oncekit.proof.simulation.matrix", description=main.__doc__)
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
