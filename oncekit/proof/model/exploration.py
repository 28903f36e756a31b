"""The lock protocol as an exhaustive model: every interleaving of the requests of one id in all lanes, with the
faults and operators that a case has, explored breadth-first.

The program of the model is the definitions themselves (machine.py) and the library (direct.py), its writes are their
condition and update expressions (record.py), and its business logic is the library, too (business.py). Every move is
held against the promises; then, from every world that was reached, a good end must be in reach without any further bad
luck (P5).

    python -m oncekit.proof.model [CASE...]
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import time
from array import array
from collections.abc import Sequence
from dataclasses import dataclass

from oncekit.proof.model.cases import CASES, rules_of
from oncekit.proof.model.moves import Rules
from oncekit.proof.model.promises import Broken
from oncekit.proof.model.world import World


@dataclass(frozen=True)
class Explored:
    states: int
    moves: int
    seconds: float


class Counterexample(Exception):
    """A promise that was broken, with the moves that lead there."""


def explore(rules: Rules, first: tuple[str, ...] = (), limit: int = 5_000_000) -> Explored:
    """Breadth first through every world that comes after these first moves, which are named by parts of their labels.

    Raises Counterexample, with a shortest way there.
    """
    began = time.process_time()
    start = rules.start()
    for part in first:
        start = next(move.world for move in rules.moves(start) if part in move.label)
    numbers: dict[World, int] = {start: 0}
    worlds = [start]
    came_from, fair_from, fair_to = array("q", [-1]), array("q"), array("q")
    moves = at = 0
    while at < len(worlds):
        label = ""
        try:
            for move in rules.moves(worlds[at]):
                moves += 1
                label = move.label
                number = numbers.setdefault(move.world, len(worlds))
                if number == len(worlds):
                    worlds.append(move.world)
                    came_from.append(at)
                if move.fair and number != at:
                    fair_from.append(at)
                    fair_to.append(number)
        except Broken as broken:
            raise Counterexample(f"{broken}\n{_way(rules, worlds, came_from, at)}\n  after {label}") from broken
        at += 1
        if len(worlds) > limit:
            raise Counterexample(f"more than {limit:,} states: the model has no end")
    _every_world_can_end(rules, worlds, came_from, fair_from, fair_to)
    return Explored(len(worlds), moves, time.process_time() - began)


def _every_world_can_end(
    rules: Rules, worlds: list[World], came_from: array[int], fair_from: array[int], fair_to: array[int]
) -> None:
    """Backwards from the ends along fair moves."""
    before: list[list[int]] = [[] for _ in worlds]
    for source, target in zip(fair_from, fair_to, strict=True):
        before[target].append(source)
    reached = [rules.is_over(world) for world in worlds]
    todo = [number for number, is_over in enumerate(reached) if is_over]
    while todo:
        for source in before[todo.pop()]:
            if not reached[source]:
                reached[source] = True
                todo.append(source)
    if not all(reached):
        stuck = reached.index(False)
        raise Counterexample(f"P5: no good end is in reach from here\n{_way(rules, worlds, came_from, stuck)}")


def _way(rules: Rules, worlds: list[World], came_from: array[int], at: int) -> str:
    """The moves from the start to a world, and the world."""
    way = [at]
    while came_from[way[-1]] >= 0:
        way.append(came_from[way[-1]])
    way.reverse()
    lines: list[str] = []
    for source, target in itertools.pairwise(way):
        label = next(move.label for move in rules.moves(worlds[source]) if move.world == worlds[target])
        lines.append(f"  {len(lines) + 1:2} {label}")
    return "\n".join([*lines, f"  then {worlds[at]}"])


def main(arguments: Sequence[str] | None = None) -> int:
    """Explore the cases and print how many states each has; 1 when one breaks a promise."""
    parser = argparse.ArgumentParser(prog="python -m oncekit.proof.model", description=main.__doc__)
    parser.add_argument("cases", nargs="*", choices=[[], *CASES], metavar="CASE", help=", ".join(CASES))
    names = parser.parse_args(arguments).cases or list(CASES)
    os.environ["POWERTOOLS_LOG_LEVEL"] = "CRITICAL"
    total = 0
    for name in names:
        with rules_of(CASES[name]) as rules:
            try:
                found = explore(rules)
            except Counterexample as counterexample:
                print(f"✗ {name}: {counterexample}", file=sys.stderr)
                return 1
        total += found.states
        print(f"✓ {name:30} {found.states:>9,} states {found.moves:>10,} moves {found.seconds:6.1f} s", flush=True)
    print(f"{total:,} states, every promise kept, every one with a good end in reach")
    return 0
