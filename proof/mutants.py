"""Deliberate breakages of the state machines, their conditions and the library: each must be caught by the tests.

Each mutant is made in a copy of the repository and the tests that should see it run there; one that they let pass meets
the rest of the suite. A survivor fails the command, and so does a mutant whose text is not there exactly once, or tests
that are red without any mutant.

    python -m proof.mutants [NAME...]      all, or those whose name contains one of the texts
"""

from __future__ import annotations

import argparse
import os
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from proof.mutants_list import MUTANTS, Mutant

ROOT = Path(__file__).parents[1]
COPIED = ("bench", "cli", "docs", "events", "functions", "local", "proof", "shared", "statemachine", "tests")
FILES = ("pyproject.toml", "samconfig.toml", "template.yaml", "README.md", "Makefile", "CHANGELOG.md")
LINKED = (".venv", "build")
REST = ("tests/statemachine", "tests/scenarios", "tests/model", "tests/unit", "tests/faults", "tests/template")
AT_A_TIME = 2
LONGEST_RUN = 240
"""Seconds; tests that hang have caught the mutant, too."""
_RED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)


class Rotten(Exception):
    """A mutant whose text is not there, or there more than once."""


@dataclass(frozen=True)
class Caught:
    """What became of a mutant; `by` is None when it survived."""

    mutant: Mutant
    by: str | None
    seconds: float


def mutated(mutant: Mutant, text: str) -> str:
    """The file's text with the mutant in it. Raises Rotten."""
    for old, new in mutant.edits:
        if (count := text.count(old)) != 1:
            raise Rotten(f"{mutant.name}: in {mutant.file} this is there {count} times: {old!r}")
        text = text.replace(old, new)
    return text


class Copy:
    """A copy of the repository, in which one mutant after the other lives."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
        for name in COPIED:
            if (ROOT / name).exists():
                shutil.copytree(ROOT / name, folder / name, ignore=ignored)
        for name in FILES:
            shutil.copy2(ROOT / name, folder / name)
        for name in LINKED:
            if (ROOT / name).exists():
                (folder / name).symlink_to(ROOT / name)

    @contextmanager
    def holding(self, mutant: Mutant) -> Iterator[None]:
        file = self._folder / mutant.file
        file.write_text(mutated(mutant, file.read_text()))
        try:
            yield
        finally:
            shutil.copy2(ROOT / mutant.file, file)

    def red(self, tests: Iterable[str]) -> str | None:
        """The first test that fails, None when all pass."""
        paths = f"{self._folder}{os.pathsep}{self._folder / 'shared'}"
        # Without bytecode: it is told apart by the second in which a file was written, and mutants come faster.
        environment = {**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--no-header", *tests]
        try:
            done = subprocess.run(  # noqa: S603 its own arguments
                command, cwd=self._folder, env=environment, capture_output=True, text=True, timeout=LONGEST_RUN
            )
        except subprocess.TimeoutExpired:
            return "a test that does not end"
        if done.returncode == 0:
            return None
        found = _RED.search(done.stdout)
        if done.returncode != 1 or found is None:
            raise Rotten(f"the tests do not run: {' '.join(command[-3:])}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        return found[1]


def hunt(mutant: Mutant, copies: queue.Queue[Copy]) -> Caught:
    """Lets the mutant live in a copy until a test catches it."""
    copy = copies.get()
    began = time.monotonic()
    try:
        with copy.holding(mutant):
            by = copy.red(mutant.tests) or copy.red(REST)
    finally:
        copies.put(copy)
    return Caught(mutant, by, time.monotonic() - began)


def green(mutants: Iterable[Mutant], copies: queue.Queue[Copy]) -> str | None:
    """A test that is red without any mutant, or None."""
    copy = copies.get()
    try:
        return copy.red(dict.fromkeys(test for mutant in mutants for test in mutant.tests if exists(test)))
    finally:
        copies.put(copy)


def exists(test: str) -> bool:
    return (ROOT / test.partition("::")[0]).exists()


def chosen(names: list[str]) -> list[Mutant]:
    return [mutant for mutant in MUTANTS if not names or any(name.lower() in mutant.name.lower() for name in names)]


def main() -> None:
    """Hunt the mutants and print what caught each; fail when one survives."""
    parser = argparse.ArgumentParser(prog="python -m proof.mutants", description=main.__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="part of a mutant's name")
    mutants = chosen(parser.parse_args().names)
    if not mutants:
        raise SystemExit("no mutant has such a name")
    for mutant in mutants:
        mutated(mutant, (ROOT / mutant.file).read_text())
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="once-mutants-") as folder, ThreadPoolExecutor(AT_A_TIME) as pool:
        copies: queue.Queue[Copy] = queue.Queue()
        for number in range(AT_A_TIME):
            (place := Path(folder) / str(number)).mkdir()
            copies.put(Copy(place))
        healthy = pool.submit(green, mutants, copies)
        survivors = 0
        for caught in pool.map(lambda mutant: hunt(mutant, copies), mutants):
            survivors += caught.by is None
            sign, by = ("✗", "SURVIVED") if caught.by is None else ("✓", caught.by)
            print(f"{sign} {caught.mutant.name:62} {caught.seconds:5.1f} s  {by}", flush=True)
        sick = healthy.result()
    print(f"{len(mutants)} mutants, {len(mutants) - survivors} caught, in {time.monotonic() - began:.0f} s")
    if sick:
        print(f"✗ without any mutant {sick} is red: what it caught means nothing")
    raise SystemExit(1 if survivors or sick else 0)


if __name__ == "__main__":
    main()
