"""Mutants of the library `shared/once`, made by rule: mutmut changes it, tests/unit must catch each change.

    python -m oncekit.proof.mutants.library [once.step_log.* ...] [--children N]

mutmut expects a package under src/, so it works on a copy of the repository that has one; which modules it changes, and
by which tests they are judged, is in pyproject.toml. It remembers which tests come by which function, and runs those
alone for a mutant of it. Lines that only a type checker reads are marked `# pragma: no mutate`.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[3]
COPY = ROOT / "build" / "mutants-of-the-library"
COPIED = ("events", "functions", "shared", "tests/unit")
MUTMUT = Path(sys.executable).with_name("mutmut")
RESULT = re.compile(r"^\s+(once\.\S+__mutmut_\d+): (.+)$", re.MULTILINE)
EQUIVALENT = (
    ('" and ".join', "DynamoDB reads the word in small letters, too"),
    ("depth > 201", "where the search ends is arbitrary"),
    ("depth >= 200", "where the search ends is arbitrary"),
    ("depth + 2", "where the search ends is arbitrary"),
    ("pointer[:101]", "how much of a path a message has is arbitrary"),
    ("len(text) >= INLINE_LIMIT", "the envelope of such a text is longer, and the next line refuses it"),
    ('separators=(",", ":"), allow_nan=False', "ensure_ascii is true by default; the code says what it relies on"),
    ("allow_nan=None", "as false as False"),
    ("is_final=None", "as false as False"),
    ("nothing_happened=None", "as false as False"),
    ("_was_read = None", "as false as False"),
    ('":onceSet,", update, )', "an update has one ADD at most; DynamoDB refuses another"),
    *((f"get('Message', {each})", "DynamoDB gives each refused action a message") for each in ("None", "", "'XXXX'")),
    ("self._closings = ", "nothing looks at it before the record is read, which sets it"),
    ("self._done: dict[str, DoneStep] | None = ", "nothing looks at it before the record is read, which sets it"),
)
"""What a line that no test can tell from the right one has in it, and why none can."""


def prepare(copy: Path = COPY) -> None:
    """The repository, with the library where mutmut looks for it. What mutmut found out before is forgotten."""
    shutil.rmtree(copy, ignore_errors=True)
    without = shutil.ignore_patterns("__pycache__", "node_modules")
    for folder in COPIED:
        shutil.copytree(ROOT / folder, copy / folder, ignore=without)
    shutil.copy2(ROOT / "pyproject.toml", copy / "pyproject.toml")
    shutil.copytree(ROOT / "shared" / "once", copy / "src" / "once", ignore=without)


def outcomes(told: str) -> dict[str, str]:
    """What became of each mutant that was tried, as mutmut calls it: killed, survived, timeout, no tests..."""
    return {name: outcome for name, outcome in RESULT.findall(told) if outcome != "not checked"}


def is_equivalent(shown: str) -> bool:
    """Whether no test can tell a mutant, as mutmut shows it, from what was there."""
    added = [line[1:].strip() for line in shown.splitlines() if line.startswith("+") and not line.startswith("+++")]
    return any(text in line for line in added for text, _ in EQUIVALENT)


def _mutmut(*arguments: str, copy: Path = COPY) -> str:
    command, environment = [str(MUTMUT), *arguments], {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    out = None if arguments[0] == "run" else subprocess.PIPE
    done = subprocess.run(command, cwd=copy, env=environment, check=True, stdout=out, text=True)  # noqa: S603 our own
    return done.stdout or ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Have all mutants judged; 1 when one is not killed, though a test could tell it from what was there."""
    parser = argparse.ArgumentParser(prog="python -m oncekit.proof.mutants.library", description=main.__doc__)
    parser.add_argument("names", nargs="*", help="patterns of mutants, e.g. once.step_log.*; all by default")
    parser.add_argument("--children", type=int, default=2, help="how many at a time")
    given = parser.parse_args(arguments)
    prepare()
    _mutmut("run", "--max-children", str(given.children), *given.names)
    found = outcomes(_mutmut("results", "--all", "true"))
    print(", ".join(f"{count} {outcome}" for outcome, count in Counter(found.values()).most_common()))
    shown = {name: _mutmut("show", name) for name, outcome in found.items() if outcome != "killed"}
    wrong = [name for name, text in shown.items() if not is_equivalent(text)]
    print("\n".join(f"✗ {found[name]}: {name}\n{shown[name]}" for name in wrong))
    return int(bool(wrong) or not found)


if __name__ == "__main__":
    sys.exit(main())
