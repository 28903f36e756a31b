"""Mutants of the state machines and of the permissions; each must be noticed.

python -m oncekit.proof.mutants [--only TEXT]... [--sample N] [--seed S] [--least P] [--workers N] [--list]
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence

from oncekit.proof.mutants.changes import ROOT, Mutant, all_mutants
from oncekit.proof.mutants.judges import Verdict, judged


def main(arguments: Sequence[str] | None = None) -> int:
    """Have mutants judged; 1 when fewer than --least percent of them are noticed."""
    parser = argparse.ArgumentParser(prog="python -m oncekit.proof.mutants", description=main.__doc__)
    parser.add_argument("--only", action="append", metavar="TEXT", help="mutants with this in their name")
    parser.add_argument("--sample", type=int, metavar="N", help="so many of them, drawn by the seed")
    parser.add_argument("--seed", help="default: one that changes with what is mutated")
    parser.add_argument("--least", type=float, default=100, metavar="P", help="percent that are enough")
    parser.add_argument("--workers", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--list", action="store_true", help="name the mutants, and judge none")
    given = parser.parse_args(arguments)
    everything = all_mutants()
    wanted = [each for each in everything if not given.only or any(text in each.name for text in given.only)]
    if given.sample:
        random.Random(given.seed or _seed(everything)).shuffle(wanted)  # noqa: S311 no secret
        wanted = wanted[: given.sample]
    if given.list:
        print("\n".join(each.name for each in wanted))
        return 0
    return _told(judged(wanted, given.workers), given.least)


def _seed(mutants: Sequence[Mutant]) -> str:
    """Another sample with every change of what is mutated, and the same one again for the same files."""
    files = sorted({each.file for each in mutants})
    return hashlib.sha256(b"".join((ROOT / file).read_bytes() for file in files)).hexdigest()


def _told(verdicts: Iterator[Verdict], least: float) -> int:
    began, outcomes = time.monotonic(), Counter[str]()
    for each in verdicts:
        outcomes[each.outcome] += 1
        if each.outcome != "killed":
            print(f"✗ {each.outcome}: {each.mutant.name}", flush=True)
    share = 100 * outcomes["killed"] / (outcomes["killed"] + outcomes["survived"] or 1)
    counted = (
        ", ".join(f"{count} {outcome}" for outcome, count in outcomes.most_common()) or "no mutant has such a name"
    )
    print(f"{counted} ({share:.1f} %), in {time.monotonic() - began:.0f} s")
    return int(share < least)


if __name__ == "__main__":
    sys.exit(main())
