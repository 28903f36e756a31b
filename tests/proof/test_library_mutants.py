"""What survives of the library's mutants is a finding, unless a reason names it; so is a reason that nothing needs."""

from __future__ import annotations

from pathlib import Path

import pytest

from oncekit.proof.mutants import library
from oncekit.proof.mutants.library import Mutant, findings, outcomes, table
from oncekit.proof.mutants.library_excuses import EXCUSES, Excuse

TOLD = """
    once.step_log.x_meaning_of__mutmut_1: killed
    once.step_log.x_meaning_of__mutmut_2: survived
    once.step.xǁStepǁput__mutmut_7: timeout
    once.step.xǁStepǁput__mutmut_8: no tests
    once.step.xǁStepǁput__mutmut_9: not checked
"""
SHOWN = """# once.step_log.x_meaning_of__mutmut_2: survived
--- src/once/step_log.py
+++ src/once/step_log.py
@@ -1,3 +1,3 @@
 def meaning_of(write):
-    inner = getattr(write, "func", write)
+    inner = getattr(write, "func", None)
"""
EXCUSED = Excuse(
    "step_log", 'inner = getattr(write, "func", write)', 'inner = getattr(write, "func", None)', "an example"
)


@pytest.fixture(autouse=True)
def mutmut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "_mutmut", lambda copy, *asked: TOLD if asked[0] == "results" else SHOWN)
    monkeypatch.setattr(library, "EXCUSES", ())


def test_every_mutant_that_was_tried_is_counted_by_its_outcome(tmp_path: Path) -> None:
    assert [each.outcome for each in outcomes(tmp_path)] == ["killed", "survived", "timeout", "no tests"]
    assert table(outcomes(tmp_path)).split() == [
        "step",
        "1",
        "no",
        "tests,",
        "1",
        "timeout",
        "step_log",
        "1",
        "killed,",
        "1",
        "survived",
    ]


@pytest.mark.parametrize("outcome", ["survived", "timeout", "no tests", "suspicious"])
def test_whatever_was_not_killed_is_a_finding(outcome: str) -> None:
    [found] = findings([Mutant("m", "step_log", outcome), Mutant("n", "step_log", "killed")])
    assert found.startswith(f"{outcome}: m\n    - inner = ")


def test_an_excuse_holds_for_its_change_alone_and_must_be_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "EXCUSES", (EXCUSED,))
    assert findings([Mutant("m", "step_log", "survived")]) == []
    [unneeded] = findings([Mutant("m", "step_log", "killed")])
    assert unneeded.startswith("an excuse that nothing needs: step_log")
    assert len(findings([Mutant("m", "step", "survived")])) == 1


def test_every_excuse_has_a_reason() -> None:
    assert all(len(each.reason.split()) > 3 for each in EXCUSES)
