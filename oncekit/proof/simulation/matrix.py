"""The crash matrix: every path, every place in it, every fault; and the results.

python -m oncekit.proof.simulation.matrix [PATH...]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from oncekit.proof.simulation.cells import LATE, Cell, Place, cells_at, strikes_of
from oncekit.proof.simulation.fast_paths import PATHS
from oncekit.proof.simulation.world import World

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
    return [each for strike in todo for each in cells_at(_world, path, *strike)]


def run(names: Sequence[str] = (), processes: int = 2, parts: int = 4) -> Iterator[list[Cell]]:
    """Every cell of the named paths, of all when none is named; the cells of one path at a time."""
    wanted = [path.name for path in PATHS if not names or path.name in names]
    with ProcessPoolExecutor(processes, get_context("spawn"), _open_world) as pool:
        started = [[pool.submit(_cells_by_name, (name, part, parts)) for part in range(parts)] for name in wanted]
        for of_one_path in started:
            yield [each for part in of_one_path for each in part.result()]


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
    cells: list[Cell] = []
    for of_one_path in run(names):
        print("\n".join(table(of_one_path)))
        for bad in (each for each in of_one_path if each.is_bad):
            print("\n".join([f"✗ {bad}", *(f"    {fault}" for fault in bad.faults)]))
        print(f"  ({time.monotonic() - began:.0f} s)", flush=True)
        cells += of_one_path
    print("\n".join(summary(cells, time.monotonic() - began)))
    return 1 if any(each.is_bad for each in cells) else 0


if __name__ == "__main__":
    sys.exit(main())
