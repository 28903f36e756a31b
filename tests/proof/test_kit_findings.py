"""The matrix of the test kit finds the mistakes that are planted in functions, and nothing in those without any."""

from __future__ import annotations

from pathlib import Path

from kit import assert_holds, outcomes_of

FILE, FEWEST = "test_matrix_findings.py", 12


def test_what_is_planted_is_found_and_nothing_else(tmp_path: Path) -> None:
    assert_holds(outcomes_of([FILE], tmp_path)[FILE], FEWEST)
