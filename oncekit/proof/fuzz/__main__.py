"""The fuzzer: odd input for the whole surface, by a seed. Nothing crashes but by a name, nothing is printed raw, and
nothing of another is touched.

python -m oncekit.proof.fuzz [--seed N] [--cases N] [--only KIND] [--workers N]
python -m oncekit.proof.fuzz --only KIND --seed N --case N      one case again, as a failure says
"""

from __future__ import annotations

import argparse
import importlib
import os
import random
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
CHUNK = 100
SHOWN = 10
"""Findings of a kind that are told; the others are counted."""


@dataclass(frozen=True)
class Kind:
    """Cases of one sort: the module that has them, the lane they run in, and how many of a thousand they are."""

    module: str
    lane: str
    share: int


KINDS = {
    "request": Kind("requests", "stage", 860),
    "reply": Kind("replies", "stage", 70),
    "record": Kind("records", "stage", 55),
    "message": Kind("messages", "cloud", 4),
    "endpoint": Kind("endpoint", "cloud", 8),
    "http-api": Kind("http_api", "cloud", 8),
    "cli": Kind("command_line", "cloud", 3),
}
LANES = {"stage": "stage", "cloud": "lane"}


@dataclass(frozen=True)
class Found:
    kind: str
    number: int
    what: str


def judged(kind: str, seed: int, numbers: Sequence[int], template: Path) -> list[Found]:
    """What is wrong in these cases."""
    with ExitStack() as stack:
        lane = importlib.import_module(f"oncekit.proof.fuzz.{KINDS[kind].lane}")
        subject = stack.enter_context(getattr(lane, LANES[KINDS[kind].lane])(template))
        case = importlib.import_module(f"oncekit.proof.fuzz.{KINDS[kind].module}").case
        findings = ((number, what) for number in numbers for what in _one(case, subject, f"{seed}/{kind}/{number}"))
        return [Found(kind, number, what) for number, what in findings]


def _one(case: Any, subject: Any, seed: str) -> list[str]:
    subject.begin()
    try:
        return list(dict.fromkeys(case(subject, random.Random(seed))))  # noqa: S311 no secret
    except Exception as error:
        return [f"crashes: {type(error).__name__}: {error}"]


def run(kinds: Sequence[str], seed: int, cases: int, workers: int, template: Path) -> int:
    """This many cases, divided among the kinds; 1 when something is wrong in any."""
    total = sum(KINDS[kind].share for kind in kinds)
    began, failed = time.monotonic(), 0
    for kind in kinds:
        count = max(1, cases * KINDS[kind].share // total)
        found = _all(kind, seed, count, workers, template)
        failed += bool(found)
        print(f"{'✗' if found else '✓'} {kind}: {count} cases, {len(found)} findings", flush=True)
        for each in found[:SHOWN]:
            what = each.what.encode("ascii", "backslashreplace").decode()
            again = f"python -m oncekit.proof.fuzz --only {kind} --seed {seed} --case {each.number}"
            print(f"  case {each.number}: {what}\n    {again}")
    print(f"seed {seed}, {time.monotonic() - began:.0f} s")
    return int(failed > 0)


def _all(kind: str, seed: int, count: int, workers: int, template: Path) -> list[Found]:
    """A new lane for each chunk of its cases; that of a cloud is expensive."""
    size = CHUNK if KINDS[kind].lane == "stage" else -(-count // workers)
    size = max(size, -(-count // (workers * 40)))
    chunks = [range(first, min(first + size, count)) for first in range(0, count, size)]
    if len(chunks) == 1 or workers == 1:
        return [found for chunk in chunks for found in judged(kind, seed, chunk, template)]
    with ProcessPoolExecutor(workers) as pool:
        jobs = [pool.submit(judged, kind, seed, chunk, template) for chunk in chunks]
        return [found for job in jobs for found in job.result()]


def main(arguments: Sequence[str] | None = None) -> int:
    """Odd input for the whole surface; 1 when anything is wrong."""
    parser = argparse.ArgumentParser(prog="python -m oncekit.proof.fuzz", description=main.__doc__)
    parser.add_argument("--only", choices=KINDS, action="append", metavar="KIND", help=", ".join(KINDS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=100_000, metavar="N")
    parser.add_argument("--case", type=int, metavar="N", help="this one alone, with --only")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, metavar="N")
    parser.add_argument("--template", type=Path, default=ROOT / "template.yaml", help="another one than the project's")
    given = parser.parse_args(arguments)
    kinds = given.only or list(KINDS)
    if given.case is None:
        return run(kinds, given.seed, given.cases, given.workers, given.template)
    if len(kinds) != 1:
        parser.error("--case wants one --only KIND")
    found = judged(kinds[0], given.seed, [given.case], given.template)
    print("\n".join(each.what.encode("ascii", "backslashreplace").decode() for each in found) or "nothing wrong")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
