"""The checker's own mistakes: mutants of it are made by rule, and its examples notice them."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from oncekit.proof.mutants.python import mutants_of

ROOT = Path(__file__).parents[2]
JUDGE = [sys.executable, "-m", "oncekit.proof.mutants.checker"]


@pytest.mark.parametrize(
    ("text", "mutants"),
    [
        ("a in ('x', 'y')", {"a not in ('x', 'y')", "a in ('y',)", "a in ('x',)"}),
        ("(a, b) == (1, 2)", {"(b,) == (2,)", "(a,) == (1,)", "(a, b) != (1, 2)"}),
        ("a < 1", {"a <= 1", "a >= 1"}),
        ("a and b", {"True and b", "a and True", "not a and b", "a and (not b)"}),
        ("a or b", {"False or b", "a or False", "not a or b", "a or not b"}),
        ("a | {'x'}", {"a", "{'x'}", "a | {*()}"}),
        ("{'x': 1, **b}", {"{**b}", "{'x': 1}"}),
        ("[a for a in b if c]", {"[a for a in b]", "[a for a in b if not c]"}),
        ("1 if a else 2", {"1 if not a else 2"}),
        ("def f(a: dict[str, int]) -> tuple[str, int]: ...", set()),
    ],
)
def test_one_place_is_changed(tmp_path: Path, text: str, mutants: set[str]) -> None:
    (tmp_path / "module.py").write_text(text)
    made = {ast.unparse(each.tree) for each in mutants_of("module", tmp_path / "module.py")}
    assert made >= mutants and text not in made and bool(made) == bool(mutants)


def test_a_sample_of_the_checkers_mutants_is_noticed() -> None:
    done = subprocess.run([*JUDGE, "--sample", "60"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0 and "60 of 60 noticed" in done.stdout, done.stdout + done.stderr


def test_a_mutant_that_no_example_notices_is_named(tmp_path: Path) -> None:
    program = (
        "import ast; from oncekit.proof.mutants import checker; from oncekit.proof.mutants.python import Mutant\n"
        f"text = open({str(ROOT / 'oncekit/promises/owners.py')!r}).read()\n"
        "checker.all_mutants = lambda: [Mutant('oncekit.promises.owners', 'as it was', ast.parse(text))]\n"
        "raise SystemExit(checker.main([]))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1 and "✗ survived: as it was\n0 of 1 noticed" in done.stdout, done.stdout + done.stderr
