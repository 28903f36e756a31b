"""What a matrix ends with: findings, or nothing to strike. What it finds is in test_matrix_findings.py."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from oncekit.testing.cloud import TestCloud
from oncekit.testing.matrix import Matrix, NothingToStrike
from oncekit.testing.plugin import RunMatrix
from oncekit.testing.report import Finding, Report

EVENTS = Path(__file__).parents[3] / "events"


def asked(operation: str) -> dict[str, Any]:
    return {"operation": operation, "idempotencyKey": "k", "payload": {"amount": 1}}


def test_the_test_fails_with_the_findings(monkeypatch: pytest.MonkeyPatch, once_matrix: RunMatrix) -> None:
    finding = Finding("twice", "Orders", "2 instead of 1", ("app.py:1 in handler: dynamodb.put_item",), ("it dies",))
    monkeypatch.setattr(Matrix, "run", lambda *_: Report("place", ["Orders"], [finding], ["it dies"], [], 1.0))
    with pytest.raises(pytest.fail.Exception, match=r"✗ twice: Orders: 2 instead of 1\n    app.py:1 in handler"):
        once_matrix(asked("place"))
    assert once_matrix(asked("place"), check=False).findings == [finding]


def test_a_matrix_that_watched_no_effect_is_not_green(once_matrix: RunMatrix) -> None:
    request = json.loads((EVENTS / "build-report.json").read_text())  # its large answer is no effect
    with pytest.raises(NothingToStrike, match="build-report, without any fault: it watched no effect"):
        once_matrix(request)


def test_a_matrix_that_had_no_time_for_a_strike_is_not_green(application: TestCloud, once_matrix: RunMatrix) -> None:
    with pytest.raises(NothingToStrike, match="place-order: no strike in 0 s: give more `seconds`"):
        once_matrix(json.loads((EVENTS / "place-order.json").read_text()), seconds=0)


def test_a_request_that_does_not_run_without_a_fault_is_no_matrix(
    application: TestCloud, once_matrix: RunMatrix
) -> None:
    with pytest.raises(AssertionError, match="unknown, without any fault: it is refused"):
        once_matrix(asked("unknown"))
