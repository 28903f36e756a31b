"""Judges mutants with a worker for each processor: measures the tests, holds controls against them, then all."""

from __future__ import annotations

import hashlib
import json
import queue
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from oncekit.local.definition import Bare, read_definition
from oncekit.local.template import parse
from oncekit.proof.mutants import definitions, template
from oncekit.proof.mutants.copies import ROOT, Copy, Hung, WorkerFailed
from oncekit.proof.mutants.mutant import Mutant
from oncekit.proof.mutants.results import Result, change_of
from oncekit.proof.mutants.suite import Suite, judges

VISITS = ROOT / "build" / "mutants"
_MEASURED = ("statemachine", "functions", "shared", "oncekit", "template.yaml")


class Sick(Exception):
    """A harmless mutant does not survive: what the tests catch means nothing."""


def documents() -> dict[str, Any]:
    """What is mutated, parsed, by file."""
    found: dict[str, Any] = {file: read_definition(ROOT / file) for file in definitions.FILES}
    file = ROOT / template.FILE
    return found | {template.FILE: parse(file.read_text(), file)}


def all_mutants(found: Mapping[str, Any]) -> list[Mutant]:
    made = [each for file in definitions.FILES for each in definitions.mutants(file, found[file])]
    return made + list(template.mutants(found[template.FILE]))


def all_harmless(found: Mapping[str, Any]) -> list[Mutant]:
    made = [each for file in definitions.FILES for each in definitions.harmless(file, found[file])]
    return made + list(template.harmless(found[template.FILE]))


class _Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
    """Writes a placeholder without quotes where it had none: what is put there may be a number."""

    def ignore_aliases(self, data: object) -> bool:
        return True


_Dumper.add_representer(Bare, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", str(text)))
_Dumper.add_representer(
    str,
    lambda dumper, text: dumper.represent_scalar(
        "tag:yaml.org,2002:str", text, style='"' if text.startswith("${") else None
    ),
)


def as_text(document: Any) -> str:
    """Another way to write the same: a test that is red for that looks at the text and not at what it means."""
    return yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=1_000_000)


class Hunt:
    """Copies with workers, and the tests as they were measured."""

    def __init__(self, copies: Sequence[Copy], found: Mapping[str, Any], paths: Sequence[str]) -> None:
        self._paths = paths
        self._free: queue.Queue[Copy] = queue.Queue()
        for copy in copies:
            self._free.put(copy)
        self._count = len(copies)
        self._documents = found
        self.suite = Suite({}, {})
        self._seconds: dict[str, float] = {}
        self.red: dict[str, str] = {}
        """What is red without any mutant, and why."""

    def measure(self, trusting: bool, told: Callable[[str], None] = lambda _: None) -> None:
        """Run every test once without any mutant, unless that was done; `trusting`, only those in changed files.

        What is red judges nothing, and the run fails.
        """
        file = VISITS / f"visits-{len(self._paths)}.json"
        key, kept = _hash_of(*_MEASURED), json.loads(file.read_text()) if file.exists() else {}
        tests: dict[str, dict[str, Any]] = kept.get("tests", {}) if trusting or kept.get("key") == key else {}
        files: dict[str, str] = kept.get("files", {})
        with self._copy() as copy:
            there = [test for test in copy.tests() if judges(test)]
        now = {file: _hash_of(file) for file in {_file(test) for test in there}}
        tests = {test: each for test, each in tests.items() if test in there and not each["red"]}
        tests = {
            test: each
            for test, each in tests.items()
            if "deployed" in each and files.get(_file(test)) == now[_file(test)]
        }
        left = [test for test in there if test not in tests]
        if left:
            told(f"running {len(left)} tests once, without any mutant")
            tests |= self._covered(left)
            VISITS.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps({"key": key, "files": now, "tests": tests}))
        self.red = {test: each["red"] for test, each in tests.items() if each["red"]}
        tests = {test: each for test, each in tests.items() if not each["red"]}
        visits = {test: frozenset(each["visits"]) for test, each in tests.items()}
        deployed = frozenset(test for test, each in tests.items() if each["deployed"])
        self.suite = Suite({test: each["cpu"] for test, each in tests.items()}, visits, deployed)
        self._seconds = {test: each["seconds"] for test, each in tests.items()}

    def _covered(self, tests: Sequence[str]) -> dict[str, dict[str, Any]]:
        groups = [[test for test in tests if _file(test) == file] for file in dict.fromkeys(map(_file, tests))]
        found: dict[str, dict[str, Any]] = {}

        def cover(group: list[str]) -> None:
            with self._copy() as copy:
                found.update(copy.do({"do": "cover", "tests": group}, lambda _: 60.0)["covered"])

        with ThreadPoolExecutor(self._count) as pool:
            list(pool.map(cover, groups))
        return found

    def hold_controls(self, files: Collection[str]) -> None:
        """Every harmless mutant of these files survives, unless that is known already. Raises Sick."""
        file, key = VISITS / f"controls-{len(self._paths)}.txt", _hash_of(*_MEASURED, "tests") + " ".join(sorted(files))
        if file.exists() and file.read_text() == key:
            return
        for result in self.judged(each for each in all_harmless(self._documents) if each.file in files):
            if result.outcome != "survived":
                raise Sick(f"a harmless mutant is {result.outcome}: {result.name}, by {result.by}: {result.why}")
        file.write_text(key)

    def judged(self, mutants: Iterable[Mutant], until: float = float("inf")) -> Iterator[Result]:
        """What becomes of them, in the order in which it is known; none is begun after `until` (monotonic)."""
        waiting: queue.Queue[Mutant] = queue.Queue()
        for mutant in mutants:
            waiting.put(mutant)
        done: queue.Queue[Result | BaseException | None] = queue.Queue()

        def work() -> None:
            try:
                while time.monotonic() < until:
                    done.put(self._judged(waiting.get_nowait()))
            except queue.Empty:
                pass
            except BaseException as error:  # told to whoever waits for results
                done.put(error)
            done.put(None)

        threads = [threading.Thread(target=work, daemon=True) for _ in range(self._count)]
        for thread in threads:
            thread.start()
        left = len(threads)
        while left:
            result = done.get()
            if isinstance(result, BaseException):
                raise result
            if result is None:
                left -= 1
            else:
                yield result

    def _judged(self, mutant: Mutant) -> Result:
        began = time.monotonic()
        answer = self._answer(mutant)
        if answer["outcome"] == "doubtful":
            answer = self._answer(mutant, anew=True)
        if answer["outcome"] == "killed":
            self.suite.killed(mutant, answer["by"])
        seconds = round(time.monotonic() - began, 2)
        outcome, by, why = answer["outcome"], answer["by"], answer["why"]
        return Result(mutant.name, mutant.kind, outcome, by, why, seconds, answer.get("cpu", 0.0), change_of(mutant))

    def _answer(self, mutant: Mutant, anew: bool = False) -> dict[str, Any]:
        """What a worker says: first the tests that only read the files, for the others need a deployment."""
        text = as_text(mutant.applied(self._documents[mutant.file]))
        tests = self.suite.for_mutant(mutant)
        parts = [
            ([test for test in tests if (test in self.suite.deployed) is deploys], deploys) for deploys in (False, True)
        ]
        with self._copy() as copy:
            if anew:
                copy.end()
            answer: dict[str, Any] = {}
            for some, deploys in parts:
                if deploys and not some:
                    break
                task = {"do": "judge", "file": mutant.file, "text": text, "tests": some, "deploys": deploys}
                answer = self._done(copy, task)
                if answer["outcome"] != "survived":
                    break
            return answer

    def _done(self, copy: Copy, task: Mapping[str, Any]) -> dict[str, Any]:
        try:
            return copy.do(task, lambda test: self._seconds.get(test, 1.0))
        except Hung as hung:
            return {"outcome": "timed out", "by": hung.test, "why": "the test did not end"}
        except WorkerFailed as error:
            return {"outcome": "doubtful", "by": "", "why": f"the worker ended: {error}"[-300:]}

    @contextmanager
    def _copy(self) -> Iterator[Copy]:
        copy = self._free.get()
        try:
            yield copy
        finally:
            self._free.put(copy)


@contextmanager
def opened(workers: int, paths: Sequence[str]) -> Iterator[Hunt]:
    """A hunt with its copies, which are gone afterwards; the tests below `paths` judge."""
    found = documents()
    rewritten = {file: as_text(document) for file, document in found.items()}
    with tempfile.TemporaryDirectory(prefix="once-mutants-") as folder:
        copies = [Copy(Path(folder) / str(number), rewritten, paths) for number in range(workers)]
        try:
            yield Hunt(copies, found, paths)
        finally:
            for copy in copies:
                copy.end()


def _file(test: str) -> str:
    return test.partition("::")[0]


def _hash_of(*names: str) -> str:
    """Changes with every file of these, and below them."""
    digest = hashlib.sha256()
    for name in names:
        files = sorted((ROOT / name).rglob("*")) if (ROOT / name).is_dir() else [ROOT / name]
        for file in files:
            if file.is_file() and "__pycache__" not in file.parts and "mutants" not in file.parts:
                digest.update(str(file.relative_to(ROOT)).encode() + file.read_bytes())
    return digest.hexdigest()
