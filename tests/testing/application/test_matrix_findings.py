"""The matrix finds what is planted, with its line, and nothing in functions that are as they should be."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from oncekit.testing.cloud import TestCloud
from oncekit.testing.plugin import RunMatrix
from oncekit.testing.report import Finding

EVENTS = Path(__file__).parents[3] / "events"
FILE = "tests/testing/application/functions/{}/app.py:"
LONG = 600.0
"""A busy machine is no fault of the code."""
MAIL = "POST https://mail.example"
Findings = dict[tuple[str, str], Finding]


def asked(operation: str) -> dict[str, Any]:
    return {"operation": operation, "idempotencyKey": "k", "payload": {"amount": 1}}


@pytest.fixture(scope="module")
def found() -> dict[str, Findings]:
    """Of each operation what its matrix found, by kind and place."""
    return {}


@pytest.fixture
def findings(application: TestCloud, once_matrix: RunMatrix, found: dict[str, Findings]) -> Callable[[str], Findings]:
    def of(operation: str) -> Findings:
        if operation not in found:
            application.put("StockTable", {"sku": "mug", "available": 1, "sold": 5})
            report = once_matrix(asked(operation), states=False, may_repeat=[MAIL], seconds=LONG, check=False)
            found[operation] = {(each.kind, each.place): each for each in report.findings}
        return found[operation]

    return of


@pytest.mark.parametrize(
    ("operation", "kind", "place", "line"),
    [
        ("careless", "twice", "Notes", "in put_before_the_step"),
        ("careless", "twice", "POST https://api.provider.example/charges", "in charge_without_a_key"),
        ("careless", "twice", "StockTable", "in update_without_a_fence"),
        ("careless", "lost", "papers", "in take_an_outage_for_a_success"),
        ("hasty", "differs", "the end", "in look_before_the_step"),
        ("hasty", "lost", "sqs.send_message", "in send_after_the_step"),
        ("hasty", "twice", "sqs.send_message", "in send_after_the_step"),
    ],
)
def test_what_is_planted_is_found_with_its_line(
    findings: Callable[[str], Findings], operation: str, kind: str, place: str, line: str
) -> None:
    finding = findings(operation)[kind, place]
    assert any(FILE.format(operation) in each and line in each for each in finding.lines), finding
    assert finding.strikes and (place != "the end" or "FAILED (PermanentError: sold out), not" in finding.what)


@pytest.mark.parametrize(("operation", "count"), [("careless", 4), ("hasty", 3)])
def test_nothing_else_is_found(findings: Callable[[str], Findings], operation: str, count: int) -> None:
    assert len(findings(operation)) == count, [str(each) for each in findings(operation).values()]


def test_a_function_whose_effects_are_safe_has_no_finding(application: TestCloud, once_matrix: RunMatrix) -> None:
    application.put("StockTable", {"sku": "mug", "available": 1})
    report = once_matrix(asked("careful"), states=False, seconds=LONG)
    assert not report.findings and not report.left_out
    assert report.effects == [
        "Notes",
        "OrdersTable",
        "POST https://api.provider.example/charges",
        "StockTable",
    ]
    assert any("another owner has finished before tests/testing/" in each for each in report.strikes)
    assert application.rows("StockTable") == [{"sku": "mug", "available": 1}], "as the test had it"


@pytest.mark.parametrize("example", ["charge-payment", "place-order"])
def test_the_examples_have_no_finding(once_matrix: RunMatrix, example: str) -> None:
    report = once_matrix(
        json.loads((EVENTS / f"{example}.json").read_text()), states=example == "place-order", seconds=LONG
    )
    assert not report.findings and not report.left_out
    if example == "place-order":
        assert {"the execution dies before Finalize", "the execution dies after AcquireLock"} <= set(report.strikes)
