"""The proof: everything that is known to go wrong, done to Once, and what came of it.

python -m oncekit.proof [--only PART] [--seed N] [--schedules N] [--cases N] [--soak]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Callable, Sequence

from oncekit.proof.model import exploration
from oncekit.proof.mutants import __main__ as mutants
from oncekit.proof.simulation import matrix, schedules

PYTEST = ("-q", "-n", "2", "--dist", "worksteal")
STACK = "tests/proof/test_scenarios_on_a_stack.py"
"""In real time, in which the sweep comes once a minute: ten minutes, of which most are waited."""
TESTS = ("tests/proof", f"--ignore={STACK}")
ODD = ("-k", "test_odd_ or fingerprint", "tests/proof", "tests/statemachine")

LEAST_KILLED = "50"

Part = Callable[[argparse.Namespace], int]


def _matrix(_given: argparse.Namespace) -> int:
    return matrix.main([])


def _schedules(given: argparse.Namespace) -> int:
    if given.seed is not None:
        return schedules.repeat(given.seed)
    return schedules.run(count=None if given.soak else given.schedules)


def _mutants(given: argparse.Namespace) -> int:
    """All of them take hours; of a sample of `--mutants N`, LEAST_KILLED percent are enough."""
    return mutants.main(["--least", LEAST_KILLED, *(["--sample", str(given.mutants)] if given.mutants else [])])


def _checker(_given: argparse.Namespace) -> int:
    """In a process that has not imported the checker, as this one has."""
    return subprocess.run([sys.executable, "-m", "oncekit.proof.mutants.checker"], check=False).returncode


def _tests(_given: argparse.Namespace) -> int:
    """A small part of each, and whether each goes red when a promise is broken."""
    return _pytest(*TESTS)


def _stack(_given: argparse.Namespace) -> int:
    """The scenarios as `make e2e` runs them, against the stack of `once up`."""
    return _pytest(STACK)


def _odd(given: argparse.Namespace) -> int:
    """Examples that nobody has seen before; of one that fails pytest prints how to see it again."""
    return _pytest(*ODD, CASES=str(given.cases))


def _pytest(*arguments: str, **environment: str) -> int:
    command = [sys.executable, "-m", "pytest", *PYTEST, *arguments]
    return subprocess.run(command, env=os.environ | environment, check=False).returncode  # noqa: S603 our own


PARTS: dict[str, Part] = {
    "tests": _tests,
    "stack": _stack,
    "matrix": _matrix,
    "schedules": _schedules,
    "model": lambda _given: exploration.main([]),
    "mutants": _mutants,
    "checker": _checker,
    "odd": _odd,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the proof, or one part of it; 1 when anything fails."""
    parser = argparse.ArgumentParser(prog="python -m oncekit.proof", description=main.__doc__)
    parser.add_argument("--only", choices=PARTS, action="append", help="this part alone; may be given again")
    parser.add_argument("--seed", type=int, help="repeat one schedule, made smaller when it fails")
    parser.add_argument("--schedules", type=int, default=2000, metavar="N")
    parser.add_argument("--mutants", type=int, metavar="N", help="a sample of so many mutants; default: all")
    parser.add_argument("--cases", type=int, default=1000, metavar="N", help="of odd input, for each property")
    parser.add_argument("--soak", action="store_true", help="schedules until stopped")
    given = parser.parse_args(arguments)
    wanted = ["schedules"] if given.seed is not None or given.soak else given.only or list(PARTS)
    failed = [name for name in wanted if _run(name, given)]
    print(f"✗ failed: {', '.join(failed)}" if failed else f"✓ {', '.join(wanted)}")
    return int(bool(failed))


def _run(name: str, given: argparse.Namespace) -> int:
    print(f"== {name}", flush=True)
    return PARTS[name](given)


if __name__ == "__main__":
    sys.exit(main())
