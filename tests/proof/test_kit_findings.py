"""The test kit's matrix finds nothing in the examples; what it finds is in tests/testing."""

from __future__ import annotations

from pathlib import Path

from kit import assert_holds, outcomes_of


def test_the_examples_are_as_they_should_be(tmp_path: Path) -> None:
    assert_holds(outcomes_of(["test_examples.py"], tmp_path)["test_examples.py"], 2)
