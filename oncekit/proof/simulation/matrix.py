"""The crash matrix: every path, every place in it, every fault; and the results.

python -m oncekit.proof.simulation.matrix [PATH...]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from oncekit.proof.simulation import outcomes
from oncekit.proof.simulation.cells import Cell, cells_at, strikes_of
from oncekit.proof.simulation.paths import PATHS
from oncekit.proof.simulation.world import ROOT, opened

NOW = ROOT / "build" / "outcomes.txt"


def _cells_by_name(names: tuple[str, int, int]) -> list[Cell]:
    """The cells of a path whose number is `part` of `parts`."""
    name, part, parts = names
    world = opened()
    path = next(path for path in PATHS if path.name == name)
    todo = strikes_of(world, path)[part::parts]
    return [each for strike in todo for each in cells_at(world, path, *strike)]


def run(names: Sequence[str] = (), processes: int = 2, parts: int = 4) -> Iterator[list[Cell]]:
    """Every cell of the named paths, of all when none is named; the cells of one path at a time."""
    wanted = [path.name for path in PATHS if not names or path.name in names]
    with ProcessPoolExecutor(processes, get_context("spawn"), opened) as pool:
        started = [[pool.submit(_cells_by_name, (name, part, parts)) for part in range(parts)] for name in wanted]
        for of_one_path in started:
            yield [each for part in of_one_path for each in part.result()]


def main(names: Sequence[str] | None = None) -> int:
    """Run the crash matrix; 1 when a cell is bad, or another outcome is kept in outcomes.txt."""
    if names is None:
        parser = argparse.ArgumentParser(prog="python -m oncekit.proof.simulation.matrix", description=main.__doc__)
        parser.add_argument("paths", nargs="*", metavar="PATH", help=", ".join(path.name for path in PATHS))
        names = parser.parse_args().paths
    began = time.monotonic()
    ends, bad = Counter[str](), 0
    kept, now = outcomes.read(), {}
    for of_one_path in run(names):
        path = of_one_path[0].path
        now[path] = outcomes.section(of_one_path)
        print(now[path], end="")
        told = ["\n    ".join([f"✗ {each}", *each.faults]) for each in of_one_path if each.is_bad]
        if now[path] != kept.get(path, now[path]):
            told += outcomes.unusual(of_one_path)
        print("\n".join([*told, f"  ({time.monotonic() - began:.0f} s)"]), flush=True)
        ends.update(each.outcome for each in of_one_path)
        bad += sum(each.is_bad for each in of_one_path)
    counted = ", ".join(f"{count} {outcome}" for outcome, count in ends.most_common())
    print(f"matrix: {len(now)} paths, {ends.total()} cells in {time.monotonic() - began:.0f} s: {counted}")
    return 1 if outcomes_differ(kept, now) or bad else 0


def outcomes_differ(kept: Mapping[str, str], found: Mapping[str, str]) -> bool:
    """Whether the outcomes of these paths are others than those that are kept; says how, and how they are accepted."""
    now = {path.name: text for path in PATHS if (text := found.get(path.name, kept.get(path.name)))}
    if now == kept:
        return False
    NOW.parent.mkdir(exist_ok=True)
    NOW.write_text(outcomes.written(now), encoding="utf-8")
    differ = outcomes.differences(kept, now)
    what = "✗ other outcomes than those that are kept" if differ else "outcomes that are not kept yet"
    now_at, kept_at = (file.relative_to(ROOT) for file in (NOW, outcomes.KEPT))
    print("\n".join([*differ, f"{what}; if they are right: cp {now_at} {kept_at}"]))
    return bool(differ)


if __name__ == "__main__":
    sys.exit(main())
