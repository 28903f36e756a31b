"""What a matrix ends with: findings, or nothing to strike. What it finds is in test_matrix_findings.py."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from oncekit.testing.kit_cloud import TestCloud
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


LOOKS = """
import os, boto3
def handler(event, context):
    return len(boto3.client("dynamodb").scan(TableName=os.environ["STOCK_TABLE"])["Items"])
"""


@pytest.fixture
def looks(once_cloud: TestCloud, tmp_path: Path) -> dict[str, Any]:
    """A request for a function that only reads."""
    (tmp_path / "app.py").write_text(LOOKS)
    once_cloud.add_function("looks", tmp_path, environment={"STOCK_TABLE": once_cloud.resources["StockTable"]})
    return asked("looks")


def test_what_was_called_without_an_effect_is_named(looks: dict[str, Any], once_matrix: RunMatrix) -> None:
    called = r"what the function called leaves nothing .*\(.*app.py:4 in handler: dynamodb.scan\)"
    with pytest.raises(NothingToStrike, match=rf"looks, .*: {called}.*write once_matrix\(\.\.\., effects=False\)"):
        once_matrix(looks)


def test_a_function_without_an_effect_passes_where_the_test_says_that_it_has_none(
    looks: dict[str, Any], once_matrix: RunMatrix
) -> None:
    report = once_matrix(looks, effects=False)
    assert report.strikes and not report.effects


def test_a_function_with_an_effect_fails_where_the_test_says_that_it_has_none(
    application: TestCloud, once_matrix: RunMatrix
) -> None:
    with pytest.raises(NothingToStrike, match=r"effects=False says that it has none: leave that out.*: .*step place"):
        once_matrix(json.loads((EVENTS / "place-order.json").read_text()), effects=False)


def test_a_matrix_that_had_no_time_for_a_strike_is_not_green(application: TestCloud, once_matrix: RunMatrix) -> None:
    with pytest.raises(NothingToStrike, match="place-order: no strike in 0 s: give more `seconds`"):
        once_matrix(json.loads((EVENTS / "place-order.json").read_text()), seconds=0)


def test_a_request_that_does_not_run_without_a_fault_is_no_matrix(
    application: TestCloud, once_matrix: RunMatrix
) -> None:
    with pytest.raises(AssertionError, match="unknown, without any fault: it is refused"):
        once_matrix(asked("unknown"))
