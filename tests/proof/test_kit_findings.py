"""The test kit's matrix: each of its strikes arrives; it finds what is planted in functions, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from kit import assert_holds, outcomes_of

FEWEST = {"test_matrix_findings.py": 12, "test_strikes.py": 31}


@pytest.mark.parametrize("file", FEWEST)
def test_strikes_arrive_and_what_is_planted_is_found(file: str, tmp_path: Path) -> None:
    assert_holds(outcomes_of([file], tmp_path)[file], FEWEST[file])
