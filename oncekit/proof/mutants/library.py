"""Mutants of the library `shared/once`, made by rule: mutmut changes it, tests/unit must catch each change.

    python -m oncekit.proof.mutants.library [once.step_log.* ...] [--children N]

mutmut expects a package under src/, so it works on a copy of the repository that has one; which modules it changes, and
by which tests they are judged, is in pyproject.toml. It runs the suite once without any change, remembers which tests
come by which function, and runs those alone for a mutant of it. What survives needs a reason in library_excuses.py.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from oncekit.proof.mutants.library_excuses import EXCUSES, Excuse

ROOT = Path(__file__).parents[3]
COPY = ROOT / "build" / "mutants-of-the-library"
COPIED = ("events", "functions", "shared", "tests/unit")
MUTMUT = Path(sys.executable).with_name("mutmut")
RESULT = re.compile(r"^\s+(once\.(\w+)\.\S+__mutmut_\d+): (.+)$", re.MULTILINE)
CAUGHT = "killed"


@dataclass(frozen=True)
class Mutant:
    name: str
    module: str
    outcome: str
    """killed, survived, timeout, no tests... as mutmut calls it."""


def prepare(copy: Path = COPY) -> None:
    """The repository, with the library where mutmut looks for it. What mutmut found out before is forgotten."""
    shutil.rmtree(copy, ignore_errors=True)
    without = shutil.ignore_patterns("__pycache__", "node_modules")
    for folder in COPIED:
        shutil.copytree(ROOT / folder, copy / folder, ignore=without)
    shutil.copy2(ROOT / "pyproject.toml", copy / "pyproject.toml")
    shutil.copytree(ROOT / "shared" / "once", copy / "src" / "once", ignore=without)


def run(names: Sequence[str], children: int, copy: Path = COPY) -> list[Mutant]:
    """Runs mutmut, and says what became of each mutant. Raises CalledProcessError when the suite fails unchanged."""
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    mutmut = [str(MUTMUT), "run", "--max-children", str(children), *names]
    subprocess.run(mutmut, cwd=copy, env=environment, check=True)  # noqa: S603 - our own tool
    return outcomes(copy)


def outcomes(copy: Path = COPY) -> list[Mutant]:
    told = _mutmut(copy, "results", "--all", "true")
    return [Mutant(*found) for found in RESULT.findall(told) if found[2] != "not checked"]


def change(mutant: Mutant, copy: Path = COPY) -> Excuse:
    """What the mutant changes: an excuse that lacks its reason."""
    lines = _mutmut(copy, "show", mutant.name).splitlines()
    removed = [line[1:].strip() for line in lines if line.startswith("-") and not line.startswith("---")]
    added = [line[1:].strip() for line in lines if line.startswith("+") and not line.startswith("+++")]
    return Excuse(mutant.module, " ".join(removed), " ".join(added), "")


def findings(mutants: Iterable[Mutant], copy: Path = COPY) -> list[str]:
    """What is wrong: mutants that survived without a reason, and reasons that nothing needs."""
    reasons = {(each.module, each.removed, each.added): each.reason for each in EXCUSES}
    found, needed = [], set()
    mutants = list(mutants)
    for mutant in mutants:
        if mutant.outcome == CAUGHT:
            continue
        it = change(mutant, copy)
        key = (it.module, it.removed, it.added)
        needed.add(key)
        if key not in reasons:
            found.append(f"{mutant.outcome}: {mutant.name}\n    - {it.removed}\n    + {it.added}")
    judged = {mutant.module for mutant in mutants}
    unneeded = (key for key in reasons if key not in needed and key[0] in judged)
    return found + [f"an excuse that nothing needs: {key[0]}\n    - {key[1]}\n    + {key[2]}" for key in unneeded]


def table(mutants: Iterable[Mutant]) -> str:
    by_module: dict[str, Counter[str]] = defaultdict(Counter)
    for mutant in mutants:
        by_module[mutant.module][mutant.outcome] += 1
    return "\n".join(
        f"{module:<16}{', '.join(f'{count} {outcome}' for outcome, count in sorted(counts.items()))}"
        for module, counts in sorted(by_module.items())
    )


def _mutmut(copy: Path, *arguments: str) -> str:
    done = subprocess.run([str(MUTMUT), *arguments], cwd=copy, check=True, capture_output=True, text=True)  # noqa: S603 - our own tool
    return done.stdout


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m oncekit.proof.mutants.library", description="Mutants of shared/once."
    )
    parser.add_argument("names", nargs="*", help="patterns of mutants, e.g. once.step_log.*; all by default")
    parser.add_argument("--children", type=int, default=2, help="how many at a time")
    given = parser.parse_args(arguments)
    prepare()
    mutants = run(given.names, given.children)
    print(table(mutants))
    # An excuse is unneeded only if all mutants were made; patterns make a part of them.
    wrong = [each for each in findings(mutants) if not (given.names and each.startswith("an excuse"))]
    print("\n".join(wrong), file=sys.stderr)
    return 1 if wrong or not mutants else 0


if __name__ == "__main__":
    sys.exit(main())
