"""Who judges a mutant: tests of states, the matrix and its paths, the model, scenarios; of a permission its tests.

A judge keeps a world open, in which the machines of the mutant are deployed, and a copy of the repository for tests.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice, zip_longest
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from oncekit.local.patching import replaced
from oncekit.promises.evidence import executions_of
from oncekit.promises.journal import all_records
from oncekit.proof.mutants.changes import ROOT, TEMPLATE, Mutant
from oncekit.proof.simulation import scheduler
from oncekit.proof.simulation.cells import Place, cells_at, places_of, strikes_of
from oncekit.proof.simulation.one_fault import LATE
from oncekit.proof.simulation.paths import PATHS
from oncekit.proof.simulation.paths import Path as Way
from oncekit.proof.simulation.world import World

CELLS = 60
"""Of the matrix, the nearest to the mutant first; one that outlives them goes on to the scenarios."""
FROM_AFAR = (LATE, "slow", "answer lost", "dies after")
"""Faults at other places of a path: what comes late, or twice, meets the mutant."""
STATES = ("tests/states",)
KEPT = "test_every_promise_is_kept_and_a_good_end_is_in_reach_from_every_state"
MODEL = (f"tests/proof/test_model.py::{KEPT}", "tests/proof/test_odd_requests.py")
"""Not the model's own mutants, which are edits of a text: without it they are no more."""
SCENARIOS = ("tests/statemachine", "tests/scenarios")
PERMISSIONS = ("tests/template/test_permissions.py", "tests/template/test_permissions_used.py")
LEFT_OUT = (".git", ".venv*", "build", ".*_cache", "*.egg-info", ".hypothesis", ".aws-sam", "__pycache__")
LONGEST = 600
"""Seconds that tests may take."""
TURNS = 2_000
"""Of a run, after which it has no end; one of the matrix takes some fifty."""

Strikes = list[tuple[Way, Place, str]]


@dataclass(frozen=True)
class Verdict:
    """`killed`, `survived`, `not met` by any path of the matrix, or `timed out`; and what noticed it."""

    mutant: Mutant
    outcome: str
    by: str = ""


class Judge:
    """Judges mutants one after the other."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._stack.enter_context(replaced((scheduler, "MOST_TURNS", TURNS)))
        self._world = self._stack.enter_context(World())
        self._folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="once-mutants-")))
        shutil.copytree(ROOT, self._folder, ignore=shutil.ignore_patterns(*LEFT_OUT), dirs_exist_ok=True)
        self._usual: dict[str, list[str]] = {}
        self._places: dict[str, set[str]] = {}
        self._strikes: dict[str, Strikes] = {}
        for way in PATHS:
            self._places[way.name] = {name for place in places_of(self._world, way) for name in place.label.split()}
            self._strikes[way.name] = [(way, *strike) for strike in strikes_of(self._world, way)]
            self._usual[way.name] = come_to(self._world)

    def verdict(self, mutant: Mutant) -> Verdict:
        """What the first judge that notices it says, the quickest ones first."""
        changed = (mutant, mutant.twin) if mutant.twin else (mutant,)
        before = {self._folder / each.file: (self._folder / each.file).read_text() for each in changed}
        for each, (file, text) in zip(changed, before.items(), strict=True):
            file.write_text(each.applied(text))
        try:
            by = self._of_definition(mutant.state) if mutant.state else self._by_tests(PERMISSIONS)
        except subprocess.TimeoutExpired:
            return Verdict(mutant, "timed out")
        finally:
            for file, text in before.items():
                file.write_text(text)
        is_met = not mutant.state or any(mutant.state in places for places in self._places.values())
        return Verdict(mutant, "killed" if by else "survived" if is_met else "not met", by)

    def _of_definition(self, state: str) -> str:
        ways = [way for way in PATHS if state in self._places[way.name]]
        return (
            self._by_tests(STATES)
            or self._by_matrix(self._other_ends(ways))
            or self._by_tests(MODEL)
            or self._by_matrix(self._bad_cells(self._nearest(ways, state)))
            or self._by_tests(SCENARIOS)
        )

    def _nearest(self, ways: list[Way], state: str) -> Strikes:
        """Of each path in turns, first the strikes that hit a state, then those from afar."""

        def is_far(strike: tuple[Way, Place, str]) -> bool:
            return state not in strike[1].label.split()

        found = ([each for each in self._strikes[way.name] if each[2] in FROM_AFAR or not is_far(each)] for way in ways)
        turns = zip_longest(*(sorted(each, key=is_far) for each in found))
        return [each for turn in turns for each in turn if each]

    def _by_matrix(self, noticed: Iterator[str]) -> str:
        try:
            with self._world.cloud.deployed_with({}, self._folder / TEMPLATE):
                return next(noticed, "")
        except Exception as error:  # whatever it is, this project cannot be deployed, or not be run
            return f"{type(error).__name__}: {error}"

    def _other_ends(self, ways: list[Way]) -> Iterator[str]:
        """Paths that come through its state, without a fault."""
        for way in ways:
            places_of(self._world, way)
            if come_to(self._world) != self._usual[way.name]:
                yield f"the path {way.name} comes to something else"

    def _bad_cells(self, strikes: Strikes) -> Iterator[str]:
        cells = (cell for strike in strikes for cell in cells_at(self._world, *strike))
        return (str(cell) for cell in islice(cells, CELLS) if cell.is_bad)

    def _by_tests(self, tests: tuple[str, ...]) -> str:
        """The first red test; those that look at layout, which a mutant does not keep, are no judges."""
        command = [sys.executable, "-m", "pytest", "-qx", "--tb=no", "-p", "no:cacheprovider", *tests]
        environment = os.environ | {
            "PYTHONPATH": f"{self._folder}{os.pathsep}{self._folder / 'shared'}",
            "MUTANT": "yes",
        }
        done = subprocess.run(  # noqa: S603 our own
            command, cwd=self._folder, env=environment, capture_output=True, text=True, timeout=LONGEST
        )
        red = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
        assert done.returncode in (0, 1), done.stdout + done.stderr
        return red[0] if red else ""


def come_to(world: World) -> list[str]:
    """What a run came to: the end of each execution, records, starts and effects, promises that it broke."""
    executions: list[Any] = [
        (each.status, each.error, each.output.get("disposition") if isinstance(each.output, dict) else None)
        for each in executions_of(world.cloud)
    ]
    records = [(id, each["status"], each["attempts"]) for id, each in all_records(world.cloud).items()]
    counted = [("started", len(world.journal.starts)), ("refused", len(world.cloud.rejected()))]
    return sorted(map(str, [*executions, *records, *counted, *world.faults(), *world.unfinished()]))


# ---- several at a time ----

_judge: Judge | None = None


def judged(mutants: Sequence[Mutant], workers: int) -> Iterator[Verdict]:
    """The verdicts, in the order in which they are found."""
    with ProcessPoolExecutor(workers, get_context("spawn"), _open) as pool:
        for job in as_completed([pool.submit(_verdict, each) for each in mutants]):
            yield job.result()


def _open() -> None:
    global _judge
    _judge = Judge()


def _verdict(mutant: Mutant) -> Verdict:
    assert _judge is not None
    return _judge.verdict(mutant)
