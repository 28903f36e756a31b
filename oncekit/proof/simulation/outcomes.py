"""The outcomes of the crash matrix as text, and what differs from those that are kept in outcomes.txt.

An outcome is how the requests ended, how often business logic was started, and how many effects there are. A line says
how many cells a path has, and what most of them come to; those below it, how many cells of each fault come to another.
"""

from __future__ import annotations

import difflib
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from oncekit.proof.simulation.cells import Cell

KEPT = Path(__file__).with_name("outcomes.txt")
HEADING = "What comes of each fault on each path of the crash matrix; outcomes.py says how to read it.\n"
WIDTH = 120


def section(cells: Sequence[Cell]) -> str:
    """The outcomes of one path."""
    outcomes = Counter(map(outcome_of, cells))
    usual = _usual(outcomes)
    told = [f"{cells[0].path}: {len(cells)} cells, mostly {usual}"]
    for outcome in sorted(set(outcomes) - {usual}):
        faults = Counter(each.fault.partition(":")[0] for each in cells if outcome_of(each) == outcome)
        told.append(f"  {outcome}: {', '.join(f'{fault} {count}' for fault, count in sorted(faults.items()))}")
    wrapped = (textwrap.wrap(line, WIDTH, subsequent_indent="    ", break_on_hyphens=False) for line in told)
    return "".join(f"{line}\n" for lines in wrapped for line in lines)


def unusual(cells: Sequence[Cell]) -> list[str]:
    """The cells of one path that come to another outcome than most of them."""
    usual = _usual(Counter(map(outcome_of, cells)))
    return [f"{each}; {outcome_of(each)}" for each in cells if outcome_of(each) != usual]


def outcome_of(cell: Cell) -> str:
    counted = ((cell.starts, "start"), (cell.effects, "effect"))
    return ", ".join([cell.outcome, *(f"{count} {what}{'' if count == 1 else 's'}" for count, what in counted)])


def _usual(outcomes: Mapping[str, int]) -> str:
    return min(outcomes, key=lambda outcome: (-outcomes[outcome], outcome))


# ---- the kept ones ----


def read(file: Path = KEPT) -> dict[str, str]:
    """The sections that are kept, by path."""
    found: dict[str, str] = {}
    path = ""
    for line in file.read_text(encoding="utf-8").splitlines()[1:] if file.exists() else ():
        path = path if line.startswith(" ") else line.rpartition(": ")[0]
        found[path] = f"{found.get(path, '')}{line}\n"
    return found


def written(sections: Mapping[str, str]) -> str:
    return "".join([HEADING, *sections.values()])


def differences(kept: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """What differs, as a unified diff; nothing if all that is kept is as it was. What is new has changed nothing."""
    before = written(kept).splitlines()
    after = written({path: text for path, text in now.items() if path in kept}).splitlines()
    return list(difflib.unified_diff(before, after, "kept", "now", lineterm="", n=1))
