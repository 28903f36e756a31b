"""The proof: everything that is known to go wrong, done to Once, and what came of it.

python -m oncekit.proof [--only PART] [--seed N] [--schedules N] [--cases N] [--soak] [--json]
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec

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
    from oncekit.proof.mutants.__main__ import main as hunt

    return hunt(["--least", LEAST_KILLED, *(["--sample", str(given.mutants)] if given.mutants else [])])


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
    # Its lines are printed here, because `--json` keeps what is printed.
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | environment) as process:  # noqa: S603 our own
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
    return process.returncode


def _module(name: str) -> Part:
    """The `main` of a module, which reads no arguments of ours; it may raise SystemExit when something fails."""
    full = f"oncekit.proof.{name}"
    assert find_spec(full), f"there is no {full}"

    def run(_given: argparse.Namespace) -> int:
        before, sys.argv = sys.argv, [full]
        try:
            return int(importlib.import_module(full).main() or 0)
        except SystemExit as end:
            return end.code if isinstance(end.code, int) else int(end.code is not None)
        finally:
            sys.argv = before

    return run


PARTS: dict[str, Part] = {
    "tests": _tests,
    "stack": _stack,
    "matrix": _matrix,
    "schedules": _schedules,
    "model": _module("model.exploration"),
    "mutants": _mutants,
    "library-mutants": _module("mutants.library"),
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
    parser.add_argument("--json", action="store_true", help="one object: part -> passed, seconds, lines")
    given = parser.parse_args(arguments)
    wanted = ["schedules"] if given.seed is not None or given.soak else given.only or list(PARTS)
    results = {name: _told(name, given) if given.json else _run(name, given) for name in wanted}
    if given.json:
        print(json.dumps(results, indent=2))
        return int(not all(result["passed"] for result in results.values() if isinstance(result, dict)))
    failed = [name for name, code in results.items() if code]
    print(f"✗ failed: {', '.join(failed)}" if failed else f"✓ {', '.join(wanted)}")
    return int(bool(failed))


def _run(name: str, given: argparse.Namespace) -> int:
    print(f"== {name}", flush=True)
    code = PARTS[name](given)
    sys.stdout.flush()
    return code


def _told(name: str, given: argparse.Namespace) -> dict[str, object]:
    began, out = time.monotonic(), io.StringIO()
    with contextlib.redirect_stdout(out):
        code = PARTS[name](given)
    return {"passed": code == 0, "seconds": round(time.monotonic() - began, 1), "lines": out.getvalue().splitlines()}


if __name__ == "__main__":
    sys.exit(main())
