"""The matrix of each example that has effects: nothing is found."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from oncekit.testing.plugin import RunMatrix

EVENTS = Path(__file__).parents[3] / "events"
LONG = 600.0
"""A busy machine is no fault of the code."""


@pytest.mark.parametrize("example", ["charge-payment", "place-order"])
def test_the_examples_have_no_finding(once_matrix: RunMatrix, example: str) -> None:
    report = once_matrix(
        json.loads((EVENTS / f"{example}.json").read_text()), states=example == "place-order", seconds=LONG
    )
    assert not report.findings and not report.left_out
    if example == "place-order":
        assert {"the execution dies before Finalize", "the execution dies after AcquireLock"} <= set(report.strikes)
