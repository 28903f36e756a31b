"""The outcomes of the crash matrix as text, and what differs from those that are kept in outcomes.txt.

For each path: how many cells it has, the outcome of most of them, and where there was another one. An outcome is how
the requests ended, how often business logic was started, and how many effects there are.
"""

from __future__ import annotations

import difflib
import textwrap
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from oncekit.proof.simulation.cells import LATE, Cell, Place

KEPT = Path(__file__).with_name("outcomes.txt")
HEADING = "What comes of each fault on each path of the crash matrix; outcomes.py says how to read it.\n"
WIDTH = 120


def section(cells: Sequence[Cell]) -> str:
    """The outcomes of one path."""
    places = sorted({each.place for each in cells}, key=lambda place: (place.kind, place.number))
    outcomes = Counter(_outcome(each) for each in cells)
    usual = min(outcomes, key=lambda outcome: (-outcomes[outcome], outcome))
    told = [f"{len(cells)} cells, mostly {usual}"]
    for outcome in sorted(set(outcomes) - {usual}):
        told.append(outcome)
        faults_at: dict[str, list[str]] = defaultdict(list)
        for fault, of_fault in _by_fault(cells).items():
            if where := _where(of_fault, outcome, places):
                faults_at[where].append(fault)
        told += [f"  {'; '.join(sorted(faults))}: {where}" for where, faults in faults_at.items()]
    wrapped = (textwrap.wrap(line, WIDTH - 2, subsequent_indent="    ", break_on_hyphens=False) for line in told)
    return "\n".join([cells[0].path, *(f"  {line}" for lines in wrapped for line in lines)]) + "\n"


def _outcome(cell: Cell) -> str:
    counted = ((cell.starts, "start"), (cell.effects, "effect"))
    return ", ".join([cell.outcome, *(f"{count} {what}{'' if count == 1 else 's'}" for count, what in counted)])


def _name(place: Place) -> str:
    return place.state if place.kind == "call" else place.label


def _by_fault(cells: Sequence[Cell]) -> dict[str, list[Cell]]:
    """By fault; what comes late is one, whenever it comes."""
    found: dict[str, list[Cell]] = defaultdict(list)
    for each in sorted(cells, key=lambda cell: cell.fault):
        found[LATE if each.fault.startswith(LATE) else each.fault].append(each)
    return found


def _where(cells: Sequence[Cell], outcome: str, places: Sequence[Place]) -> str:
    """Where a fault has an outcome: places of one name have numbers, from 1; what arrives late has its times."""
    alike = Counter(_name(place) for place in places)
    numbers: dict[str, list[str]] = defaultdict(list)
    whole: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    for place in places:
        name = _name(place)
        seen[name] += 1
        here = [each for each in cells if each.place == place]
        if mine := [each for each in here if _outcome(each) == outcome]:
            when = "" if len(mine) == len(here) else f" ({' '.join(_times(mine))})"
            whole[name] += not when
            numbers[name].append(f"{seen[name] if alike[name] > 1 else ''}{when}".strip())
    if (
        numbers
        and len({each.place for each in cells}) > 1
        and sum(whole.values()) == len({each.place for each in cells})
    ):
        return "everywhere"
    named = (
        f"each {name}" if 1 < alike[name] == whole[name] else f"{name} {' '.join(of)}".strip()
        for name, of in numbers.items()
    )
    return ", ".join(named)


def _times(cells: Sequence[Cell]) -> Iterator[str]:
    """When a call arrived that was late: `never`, or the number of the later call that it came before."""
    times = [each.fault.removeprefix(f"{LATE}: ").removeprefix("before call ") for each in cells]
    yield from sorted(times, key=lambda time: (time.isdigit(), int(time) if time.isdigit() else 0))


# ---- the kept ones ----


def read(file: Path = KEPT) -> dict[str, str]:
    """The sections that are kept, by path."""
    text = file.read_text(encoding="utf-8") if file.exists() else HEADING
    return {each.partition("\n")[0]: each.rstrip("\n") + "\n" for each in text.split("\n\n")[1:]}


def written(sections: Mapping[str, str]) -> str:
    return "\n".join([HEADING, *sections.values()])


def differences(kept: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """What differs, as a unified diff; nothing if all that is kept is as it was. What is new has changed nothing."""
    before = written(kept).splitlines()
    after = written({path: text for path, text in now.items() if path in kept}).splitlines()
    return list(difflib.unified_diff(before, after, "kept", "now", lineterm="", n=2))
