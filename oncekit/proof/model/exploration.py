"""The lock protocol as an exhaustive model: every interleaving of three executions of one id, with crashes, lost
answers, errors, zombies, recovery and expiry, explored breadth-first.

The program of the model is the definitions themselves (machine.py), its writes are their condition and update
expressions (record.py), and its business logic is the library (logic.py). Every move is held against the
promises P1 to P6; then, from every world that was reached, an end must be in reach without any further bad luck (P5).

    python -m oncekit.proof.model [SETTING...]
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import os
import sys
import time
from array import array
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from oncekit.local.deploy import rendered_definitions
from oncekit.proof.model.machine import Machine
from oncekit.proof.model.moves import Rules
from oncekit.proof.model.promises import Broken, Promises
from oncekit.proof.model.record import Remembering, table
from oncekit.proof.model.services import IN_FLIGHT, INPUT, PAGES
from oncekit.proof.model.setting import Setting
from oncekit.proof.model.world import FAST, FULL, Budget, World

ROOT = Path(__file__).parents[3]
TABLE = "IdempotencyTable"
MAX_ATTEMPTS, MAX_RECOVERIES = 3, 2


@dataclass(frozen=True)
class Explored:
    """What came out of one setting."""

    name: str
    states: int
    moves: int
    seconds: float


class Counterexample(Exception):
    """A promise that was broken, with the moves that lead there."""


@dataclass(frozen=True)
class Case:
    """A setting by name: what each request is like, and what may go wrong."""

    requests: tuple[Mapping[str, str], ...]
    budget: Budget
    workers: int = 0
    """Recoveries at the same time."""
    inline_limit: int = 4096
    instants: bool = False
    unreadable: frozenset[str] = frozenset()
    """What is larger than a state can carry."""
    late: frozenset[str] = frozenset()
    """The writes that may come late; none named: all of them."""
    lanes: tuple[str, ...] = ()
    """Where each request arrives; none named: in the full lane."""
    age: int = 0
    """Of executions in the fast lane, in seconds: at 200 there is time for one attempt, and not for another."""
    parameters: Mapping[str, str] = field(default_factory=dict)


RETRY: Mapping[str, str] = {}
CAREFUL = {"onCrash": "quarantine"}
WAIT = {"onConflict": "wait"}
OTHER = {"payload": "other"}
LONG = {"payload": "x" * 200}
"""Does not fit into a record of the smallest inline limit."""
AGAIN = {"onFailed": "retry"}
MESSAGE = {"envelope": "yes"}
CASES: Mapping[str, Case] = {
    # Three requests at once and two crashes; what a lost answer adds is in the next one.
    "owners": Case((RETRY, RETRY, RETRY), Budget(3, crashes=2)),
    "owners-losses": Case((RETRY, RETRY, RETRY), Budget(3, crashes=2, losses=1)),
    "losses": Case((RETRY, RETRY), Budget(2, crashes=2, losses=1)),
    "errors": Case((RETRY, RETRY), Budget(2, crashes=1, errors=1)),
    "errors-losses": Case((RETRY, RETRY), Budget(2, crashes=1, losses=1, errors=1)),
    "waiting": Case((RETRY, WAIT), Budget(2, crashes=1)),
    "careful": Case((CAREFUL, CAREFUL), Budget(2, crashes=2, errors=1)),
    "careful-losses": Case((CAREFUL, CAREFUL), Budget(2, crashes=2, losses=1, errors=1)),
    "large": Case((RETRY, RETRY), Budget(2, crashes=2), inline_limit=1200),
    "expiry": Case((RETRY, OTHER, RETRY), Budget(3, crashes=1, expiries=1), instants=True),
    # Writes that come at any later time, and descriptions of executions as they were.
    "late": Case((RETRY, RETRY), Budget(2, crashes=1, late=1)),
    "late-errors": Case((RETRY,), Budget(1, crashes=1, errors=1, late=1)),
    "stale": Case((RETRY, RETRY), Budget(2, crashes=2, stale=1)),
    "redriven": Case((RETRY, RETRY, RETRY), Budget(3, crashes=2, losses=1, stale=1)),
    "operator": Case((RETRY, RETRY), Budget(2, crashes=2, stale=1, operators=1)),
    "unreadable": Case((RETRY, RETRY), Budget(2, crashes=2, operators=1), unreadable=frozenset({PAGES})),
    "unreadable-recovery": Case((MESSAGE,), Budget(1, crashes=1, losses=1), workers=1, unreadable=frozenset({INPUT})),
    # A failed operation that is tried again by whoever asks for it: two at once, and a duplicate that does not.
    "failed": Case((AGAIN, AGAIN), Budget(2, crashes=1, errors=1)),
    "failed-late": Case((AGAIN, AGAIN), Budget(2, errors=1, losses=1, late=1)),
    "failed-recovery": Case((AGAIN, RETRY), Budget(2, crashes=1, errors=1), workers=1),
    # Nobody sends the request again: only recovery brings it to its end.
    "recovery": Case((MESSAGE,), Budget(1, crashes=1), workers=1),
    "recovery-losses": Case((RETRY,), Budget(1, crashes=1, losses=1), workers=1),
    "recovery-crashes": Case((RETRY,), Budget(1, crashes=2), workers=1),
    "recovery-duplicate": Case((RETRY, RETRY), Budget(2, crashes=1), workers=1, instants=True),
    "recovery-twice": Case((RETRY,), Budget(1, crashes=1), workers=2),
    "recovery-expiry": Case((RETRY,), Budget(1, crashes=1, errors=1, expiries=1), workers=1),
    # The fast lane: an owner that nobody can ask, a lease that outlives it, and what it hands over.
    "fast": Case((RETRY, RETRY), Budget(2, crashes=1), lanes=(FAST, FAST)),
    "fast-losses": Case((RETRY, RETRY), Budget(2, crashes=1, losses=1), lanes=(FAST, FAST)),
    "fast-careful": Case((CAREFUL, CAREFUL), Budget(2, crashes=1, errors=1), lanes=(FAST, FULL)),
    "fast-released": Case((RETRY, RETRY), Budget(2, losses=1, errors=1), lanes=(FAST, FAST), age=200),
    "fast-released-careful": Case((CAREFUL, CAREFUL), Budget(2, crashes=1, errors=1), lanes=(FAST, FAST), age=200),
    "fast-full-only": Case(
        (RETRY, RETRY), Budget(2, losses=1), lanes=(FAST, FAST), parameters={"FullLaneOperations": "charge"}
    ),
    "fast-recovery": Case((MESSAGE,), Budget(1, crashes=1), workers=1, lanes=(FAST,)),
    "fast-recovery-losses": Case((RETRY,), Budget(1, crashes=1, losses=1), workers=1, lanes=(FAST,)),
    "fast-recovery-large": Case((LONG,), Budget(1, crashes=1), workers=1, inline_limit=1200, lanes=(FAST,)),
    "fast-recovery-gone": Case(
        (LONG,), Budget(1, crashes=1), 1, 1200, unreadable=frozenset({IN_FLIGHT}), lanes=(FAST,)
    ),
    "fast-late": Case((RETRY, RETRY), Budget(2, crashes=1, late=1), lanes=(FAST, FAST)),
    "fast-failed": Case((AGAIN, AGAIN), Budget(2, errors=1), lanes=(FAST, FULL)),
    "mixed": Case((RETRY, RETRY), Budget(2, crashes=1, losses=1), lanes=(FAST, FULL)),
    "mixed-dead": Case((RETRY, RETRY), Budget(2, crashes=2), lanes=(FULL, FAST)),
    "mixed-expiry": Case((RETRY, OTHER), Budget(2, crashes=1, expiries=1), instants=True, lanes=(FAST, FULL)),
}
DEEP = {
    "owners-losses",
    "losses",
    "errors-losses",
    "careful-losses",
    "redriven",
    "late",
    "failed-late",
    "failed-recovery",
    "recovery-losses",
    "recovery-crashes",
    "recovery-duplicate",
    "recovery-twice",
    "recovery-expiry",
    "fast-losses",
    "fast-released",
    "fast-released-careful",
    "fast-full-only",
    "fast-recovery-losses",
    "fast-recovery-large",
    "fast-recovery-gone",
    "fast-late",
    "fast-failed",
    "mixed",
    "mixed-dead",
    "mixed-expiry",
}
"""Cases that take long; `make test` leaves them to `make proof`."""


def request(more: Mapping[str, str]) -> str:
    """The input of an execution; with `envelope` as a pipe sends it."""
    given = {"operation": "charge", "idempotencyKey": "k", "payload": {"n": more.get("payload", "1")}}
    policy = {name: value for name, value in more.items() if name.startswith("on")}
    return json.dumps([{"body": given | policy}] if "envelope" in more else given | policy, sort_keys=True)


@functools.lru_cache(10)
def _machine(definition: str, age: int = 0) -> Machine:
    """Of a definition as JSON: settings of the same one share what it has answered."""
    return Machine(json.loads(definition), age=age)


@contextmanager
def rules_of(case: Case, root: Path = ROOT) -> Iterator[Rules]:
    """The rules of a case, from the definitions below `root`."""
    parameters = {
        **case.parameters,
        "MaxAttempts": MAX_ATTEMPTS,
        "MaxRecoveries": MAX_RECOVERIES,
        "InlineLimitBytes": case.inline_limit,
    }
    rendered = rendered_definitions(root / "template.yaml", parameters)
    operation, recovery = rendered["operation"], rendered["recovery"]
    name: str = operation["States"]["AcquireLock"]["Arguments"]["TableName"]

    def branch(state: str) -> Machine:
        processor: Mapping[str, Any] = recovery["States"][state]["ItemProcessor"]
        return _machine(json.dumps(processor))

    inputs = tuple(request(each) for each in case.requests)
    with table(name, Remembering) as there:
        yield Rules(
            Setting(
                operation=_machine(json.dumps(operation)),
                fast=_machine(json.dumps(rendered["fast"]), case.age),
                look=branch("LookAtDeadExecutions"),
                recover=branch("RecoverRecords"),
                table=there,
                requests=inputs,
                budget=case.budget,
                workers=case.workers,
                instants=case.instants,
                promises=Promises(
                    max_attempts=MAX_ATTEMPTS,
                    max_recoveries=MAX_RECOVERIES,
                    retries=frozenset(inputs.index(each) for each in inputs if '"onFailed": "retry"' in each),
                ),
                unreadable=case.unreadable,
                late=case.late,
                lanes=case.lanes,
            )
        )


def explore(rules: Rules, name: str = "", limit: int = 5_000_000) -> Explored:
    """Breadth first through every world. Raises Counterexample, with a shortest way there."""
    began = time.process_time()
    start = rules.start()
    numbers: dict[World, int] = {start: 0}
    worlds = [start]
    came_from = array("q", [-1])
    fair_from, fair_to = array("q"), array("q")
    moves = 0
    at = 0
    while at < len(worlds):
        world = worlds[at]
        try:
            for move in rules.moves(world):
                moves += 1
                number = numbers.setdefault(move.world, len(worlds))
                if number == len(worlds):
                    worlds.append(move.world)
                    came_from.append(at)
                if move.fair and number != at:
                    fair_from.append(at)
                    fair_to.append(number)
        except Broken as broken:
            raise Counterexample(f"{broken}\n{_way(rules, worlds, came_from, at)}") from broken
        at += 1
        if len(worlds) > limit:
            raise Counterexample(f"more than {limit:,} states: the model has no end")
    _every_world_can_end(rules, worlds, came_from, fair_from, fair_to)
    return Explored(name, len(worlds), moves, time.process_time() - began)


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
        raise Counterexample(f"P5: no end is in reach from here\n{_way(rules, worlds, came_from, stuck)}")


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


def main() -> None:
    """Explore the settings and print how many states each has."""
    parser = argparse.ArgumentParser(prog="python -m oncekit.proof.model", description=main.__doc__)
    parser.add_argument("settings", nargs="*", choices=[[], *CASES], metavar="SETTING", help=", ".join(CASES))
    names = parser.parse_args().settings or list(CASES)
    total = 0
    os.environ["POWERTOOLS_LOG_LEVEL"] = "CRITICAL"
    for name in names:
        with rules_of(CASES[name]) as rules:
            try:
                found = explore(rules, name)
            except Counterexample as counterexample:
                print(f"✗ {name}: {counterexample}", file=sys.stderr)
                raise SystemExit(1) from None
        total += found.states
        print(f"✓ {name:15} {found.states:>9,} states {found.moves:>10,} moves {found.seconds:6.1f} s")
    print(f"{total:,} states, every promise kept, every one with an end in reach")
