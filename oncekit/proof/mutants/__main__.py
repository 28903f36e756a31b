"""Mutants of the state machines and of the template, made by rule; each must be killed by a test, or be excused.

python -m oncekit.proof.mutants [--only TEXT]... [--sample N] [--seed S] [--seconds S] [--again KIND]... [--list]
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from oncekit.proof.mutants.copies import ROOT
from oncekit.proof.mutants.excuses import EXCUSES
from oncekit.proof.mutants.hunt import Hunt, Sick, all_mutants, as_text, documents, opened
from oncekit.proof.mutants.mutant import Mutant
from oncekit.proof.mutants.results import OUTCOMES, Result, Results, share_killed, table
from oncekit.proof.mutants.suite import PATHS, QUICK

SURVIVED = "✗ survived: "
RESULTS = ROOT / "build" / "mutants.json"


def main(arguments: Sequence[str] | None = None) -> int:
    """Hunt the mutants and tell what became of each; 1 when one survives that is not excused."""
    given = _parser().parse_args(arguments)
    found = documents()
    everything = all_mutants(found)
    wanted = [each for each in everything if _is_wanted(each, given.only)]
    if not wanted:
        print("no mutant has such a name", file=sys.stderr)
        return 2
    if given.sample or given.seconds:
        # Another sample with every change of what is mutated, and the same one again for the same files.
        seed = given.seed or hashlib.sha256("".join(map(as_text, found.values())).encode()).hexdigest()
        random.Random(seed).shuffle(wanted)  # noqa: S311 no secret
        wanted = wanted[: given.sample or None]
    if given.list:
        print("\n".join(f"{each.kind:18} {each.name}" for each in wanted))
        return 0
    results = Results(given.results)
    try:
        with opened(given.workers, QUICK if given.quick else PATHS) as hunt:
            return _hunted(hunt, wanted, everything, results, given)
    except Sick as sick:
        print(f"✗ {sick}")
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m oncekit.proof.mutants", description=main.__doc__)
    parser.add_argument("--only", action="append", metavar="TEXT", help="mutants with this in their name")
    parser.add_argument("--sample", type=int, metavar="N", help="so many of them, drawn by the seed")
    parser.add_argument("--seed", help="default: one that changes with the files that are mutated")
    parser.add_argument("--least", type=float, metavar="P", help="enough when P percent of those judged are killed")
    parser.add_argument("--seconds", type=float, metavar="S", help="begin no mutant after so many seconds")
    parser.add_argument("--again", action="append", choices=OUTCOMES, help="judge those again that ended so")
    parser.add_argument("--anew", action="store_true", help="forget what is known")
    parser.add_argument("--quick", action="store_true", help="let those tests judge that need no deployment")
    parser.add_argument("--trust", action="store_true", help="take what is known of tests whose own file is the same")
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="FILE", help="kept here, and gone on with")
    parser.add_argument("--workers", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--list", action="store_true", help="name the mutants, and judge none")
    return parser


def _is_wanted(mutant: Mutant, only: Sequence[str] | None) -> bool:
    return not only or any(text.lower() in mutant.name.lower() for text in only)


def _hunted(
    hunt: Hunt, wanted: list[Mutant], everything: list[Mutant], results: Results, given: argparse.Namespace
) -> int:
    began = time.monotonic()
    hunt.measure(given.trust, print)
    for test, why in hunt.red.items():
        print(f"✗ red without any mutant: {test}: {why[:200]}")
    hunt.hold_controls({each.file for each in wanted})
    again = given.again or ()
    left = [each for each in wanted if given.anew or _is_open(results, each, again)]
    print(f"{len(wanted)} mutants, {len(wanted) - len(left)} of them known; the controls survive", flush=True)
    until = time.monotonic() + (given.seconds or float("inf"))
    for number, result in enumerate(hunt.judged(left, until)):
        results.add(result)
        if result.outcome != "killed":
            print(f"{_sign(result)} {result.name}  {result.outcome} {result.by} {result.seconds} s", flush=True)
        if number % 20 == 0:
            results.save(time.monotonic() - began)
    results.save(time.monotonic() - began)
    outcomes = (results.of(each) for each in wanted)
    known = [each for each in outcomes if each is not None]
    print(table(known, EXCUSES))
    faults = _faults(known, everything, results)
    faults += [f"✗ red without any mutant: {test}" for test in hunt.red]
    print(f"{len(known)} judged, in {time.monotonic() - began:.0f} s; {given.results} has them all")
    print("\n".join(faults), end="\n" if faults else "")
    if given.least is not None and all(each.startswith(SURVIVED) for each in faults):
        return int(share_killed(known, EXCUSES) < given.least)
    return int(bool(faults))


def _is_open(results: Results, mutant: Mutant, again: Sequence[str]) -> bool:
    known = results.of(mutant)
    return known is None or known.outcome in again


def _sign(result: Result) -> str:
    return "~" if result.outcome == "survived" and result.name in EXCUSES else "✗"


def _faults(known: Sequence[Result], everything: Sequence[Mutant], results: Results) -> list[str]:
    """Survivors without an excuse, and excuses that nothing needs."""
    names = {each.name for each in everything}
    killed = {each.name for each in known if each.outcome == "killed"}
    return [
        *(f"{SURVIVED}{each.name}" for each in known if each.outcome == "survived" and each.name not in EXCUSES),
        *(f"✗ doubtful: {each.name}: {each.why}" for each in known if each.outcome == "doubtful"),
        *(f"✗ excused, but there is no such mutant: {name}" for name in EXCUSES if name not in names),
        *(f"✗ excused, but killed: {name}" for name in EXCUSES if name in killed),
    ]


if __name__ == "__main__":
    sys.exit(main())
