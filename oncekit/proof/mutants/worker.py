"""Runs tests against one mutant after the other, in a copy of the repository:
`python -m oncekit.proof.mutants.worker PATHS`.

A worker is one pytest session whose tests are collected once and whose cloud stays open. For each mutant the changed
file is written, the cloud deployed again, and the tests run until one is red. That one runs once more without the
mutant: only then has it caught it. For each task a line of
JSON comes in on file descriptor 3; lines of JSON go out on 4.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

import pytest
from _pytest.runner import runtestprotocol

from oncekit.local import LocalCloud, VirtualClock
from oncekit.local.deploy import rendered_definitions
from oncekit.proof.mutants.visits import Visits, recorded

ROOT = Path(__file__).parents[3]
IN, OUT = 3, 4
PARAMETERS = {"BusinessTimeoutSeconds": "2", "HttpRequestsPerSecond": "10000"}
"""Those of the tests' own cloud; see tests/conftest.py."""


_DEFINITIONS = frozenset({"definitions", "definition", "states", "rules"})
"""Fixtures that are a definition, or made of one."""


class Worker:
    """A plugin of pytest: it does what it is told in place of running what was collected."""

    def __init__(self, tasks: IO[str], answers: IO[str]) -> None:
        self._tasks, self._answers = tasks, answers
        self._visits = Visits()
        self._cloud: LocalCloud | None = None
        self._deployed: list[str] = []
        self._items: dict[str, pytest.Item] = {}

    # ---- what pytest calls ----

    @pytest.hookimpl(tryfirst=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest) -> Any:
        """The cloud of the session is the worker's own, which stays open between mutants."""
        if fixturedef.argname != "shared_cloud":
            return None
        fixturedef.cached_result = (self._cloud, fixturedef.cache_key(request), None)  # type: ignore[arg-type]
        return self._cloud

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self._items = {item.nodeid: item for item in session.items}
        with ExitStack() as stack:
            stack.enter_context(recorded(self._visits))
            clock = VirtualClock()
            path = ROOT / "template.yaml"
            self._cloud = stack.enter_context(LocalCloud(path, parameters=PARAMETERS, clock=clock, events=False))
            self._say(tests=list(self._items))
            for task in self._read():
                began = time.process_time()
                answer = self._cover(task["tests"]) if task["do"] == "cover" else self._judge(task)
                self._say(**answer, cpu=round(time.process_time() - began, 3))
        return True

    # ---- tasks ----

    def _read(self) -> Iterator[dict[str, Any]]:
        for line in self._tasks:
            yield json.loads(line)

    def _say(self, **said: Any) -> None:
        self._answers.write(json.dumps(said) + "\n")
        self._answers.flush()

    def _cover(self, tests: Sequence[str]) -> dict[str, Any]:
        """Every test by itself: whether it is green, its seconds, and what it visits."""
        found = {}
        items = self._those(tests)
        self._visits.taken()
        for item, following in zip(items, [*items[1:], None], strict=True):
            self._say(begins=item.nodeid)
            began, cpu = time.monotonic(), time.process_time()
            problem = self._problem(item, following)
            if not _DEFINITIONS.isdisjoint(getattr(item, "fixturenames", ())):
                self._visits.add("*")
            found[item.nodeid] = {
                "red": problem,
                "seconds": round(time.monotonic() - began, 3),
                "cpu": round(time.process_time() - cpu, 3),
                "visits": self._visits.taken(),
                "deployed": "shared_cloud" in getattr(item, "fixturenames", ()),
            }
        return {"covered": found}

    def _judge(self, task: Mapping[str, Any]) -> dict[str, Any]:
        file = ROOT / task["file"]
        before = file.read_text()
        file.write_text(task["text"])
        try:
            outcome = self._outcome(task["tests"], task["deploys"])
        finally:
            file.write_text(before)
            if task["deploys"]:
                self._deploy_again()
        if outcome["outcome"] == "killed":
            [item] = self._those([outcome["by"]])
            if (problem := self._problem(item, None)) is not None:
                return {"outcome": "doubtful", "by": item.nodeid, "why": f"red without it, too: {problem}"}
        return outcome

    def _outcome(self, tests: Sequence[str], deploys: bool) -> dict[str, Any]:
        try:
            if deploys:
                self._deploy_again()
            else:
                rendered_definitions(ROOT / "template.yaml")
        except Exception as error:  # whatever it is, this project cannot be deployed
            return {"outcome": "stillborn", "by": type(error).__name__, "why": str(error)[:300]}
        items = self._those(tests)
        try:
            for item, following in zip(items, [*items[1:], None], strict=True):
                self._say(begins=item.nodeid)
                if (problem := self._problem(item, following)) is not None:
                    return {"outcome": "killed", "by": item.nodeid, "why": problem}
        finally:
            if items:
                items[0].session._setupstate.teardown_exact(None)
        return {"outcome": "survived", "by": "", "why": f"{len(items)} tests"}

    def _deploy_again(self) -> None:
        assert self._cloud is not None
        self._cloud.reset()
        self._cloud.redeploy(PARAMETERS, ROOT / "template.yaml")

    def _those(self, tests: Sequence[str]) -> list[pytest.Item]:
        return [self._items[test] for test in tests if test in self._items]

    def _problem(self, item: pytest.Item, following: pytest.Item | None) -> str | None:
        """What is wrong with a test, None when it is green or skipped."""
        item._initrequest()  # type: ignore[attr-defined]  # as if it had never run
        for report in runtestprotocol(item, log=False, nextitem=following):
            if report.failed:
                lines = str(report.longrepr).strip().splitlines()
                return f"{report.when}: {lines[-1] if lines else ''}"[:300]
        return None


def main() -> int:
    """Collect the tests that the command line names, then do what comes in."""
    assert Path.cwd() == ROOT, f"{ROOT} is imported, and the copy is {Path.cwd()}"
    from hypothesis import Phase, settings

    settings.register_profile("mutants", database=None, derandomize=True, phases=(Phase.explicit, Phase.generate))
    settings.load_profile("mutants")
    worker = Worker(os.fdopen(IN), os.fdopen(OUT, "w"))
    quiet = ["-p", "no:cacheprovider", "-p", "no:xdist", "--tb=native"]
    return int(pytest.main([*quiet, *sys.argv[1:]], plugins=[worker]))


if __name__ == "__main__":
    sys.exit(main())
