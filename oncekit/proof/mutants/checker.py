"""Mutants of the promises' checker: each must be noticed by tests/promises alone.

python -m oncekit.proof.mutants.checker [--only TEXT]... [--sample N] [--workers N]

What the tests need is imported once. Then each mutant has a process of its own, forked from this one, that runs them.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.abc
import importlib.util
import os
import random
import resource
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from oncekit.proof.mutants.python import Mutant, mutants_of

ROOT = Path(__file__).parents[3]
CHECKER = ROOT / "oncekit" / "promises"
TESTS = str(ROOT / "tests" / "promises")
PYTEST = (
    "-qx",
    "--tb=no",
    *(each for name in ("cacheprovider", "hypothesispytest", "xdist") for each in ("-p", f"no:{name}")),
)
LONGEST = 20
"""Seconds of the processor that the tests may take, which need one: what goes on for ever is noticed, too."""


def all_mutants() -> list[Mutant]:
    files = sorted(CHECKER.glob("*.py"))
    return [each for path in files for each in mutants_of(f"oncekit.promises.{path.stem}", path)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Have mutants judged; 1 when one of them survives."""
    parser = argparse.ArgumentParser(prog="python -m oncekit.proof.mutants.checker", description=main.__doc__)
    parser.add_argument("--only", action="append", metavar="TEXT", help="mutants with this in their name")
    parser.add_argument("--sample", type=int, metavar="N", help="so many of them, others with each change")
    parser.add_argument("--workers", type=int, default=min(2, os.cpu_count() or 1))
    given = parser.parse_args(arguments)
    wanted = [each for each in all_mutants() if not given.only or any(text in each.name for text in given.only)]
    if given.sample:
        random.Random("".join(each.name for each in wanted)).shuffle(wanted)  # noqa: S311 no secret
        wanted = wanted[: given.sample]
    began, survived = time.monotonic(), 0
    _import_what_tests_need()
    for each, is_noticed in judged([None, *wanted], given.workers):
        if each is None and is_noticed:
            print(f"✗ {TESTS} is red without any mutant")
            return 1
        if each is not None and not is_noticed:
            survived += 1
            print(f"✗ survived: {each.name}", flush=True)
    print(f"{len(wanted) - survived} of {len(wanted)} noticed, in {time.monotonic() - began:.0f} s")
    return int(bool(survived))


def judged(mutants: Iterable[Mutant | None], workers: int) -> Iterator[tuple[Mutant | None, bool]]:
    """Each with whether the tests notice it, in the order in which that is known; None is the checker as it is."""
    running: dict[int, Mutant | None] = {}
    for each in mutants:
        if len(running) == workers:
            yield _ended(running)
        running[_started(each)] = each
    while running:
        yield _ended(running)


def _ended(running: dict[int, Mutant | None]) -> tuple[Mutant | None, bool]:
    number, status = os.wait()
    return running.pop(number), status != 0


def _started(mutant: Mutant | None) -> int:
    """The number of the process that runs the tests; it ends with 0 if they notice nothing."""
    sys.stdout.flush()
    if child := os.fork():
        return child
    code = 1
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (LONGEST, LONGEST))
        if mutant is not None:
            sys.meta_path.insert(0, _Instead(mutant))
            importlib.import_module(mutant.module)  # before pytest, whose own finder comes first
        code = _pytest(TESTS)
    finally:
        os._exit(code)


def _import_what_tests_need() -> None:
    """All but the checker itself and what has its modules: those are imported anew for each mutant."""
    import moto.dynamodb.models
    import moto.s3.models  # noqa: F401

    import oncekit.local  # noqa: F401

    _pytest("--ignore-glob=*test_*", TESTS)
    assert "oncekit.promises" not in sys.modules, "what is imported already is no mutant"


def _pytest(*arguments: str) -> int:
    with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        return int(pytest.main([*PYTEST, *arguments]))


@dataclass(frozen=True)
class _Instead(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the mutant in place of its module."""

    mutant: Mutant

    def find_spec(self, name: str, *_: Any) -> ModuleSpec | None:
        return importlib.util.spec_from_loader(name, self) if name == self.mutant.module else None

    def exec_module(self, module: ModuleType) -> None:
        exec(compile(self.mutant.tree, self.mutant.name, "exec"), vars(module))  # noqa: S102 it is our own code


if __name__ == "__main__":
    sys.exit(main())
