"""The matrix finds what is planted, with its line, and nothing in functions that are as they should be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from oncekit.testing.kit_cloud import TestCloud
from oncekit.testing.plugin import RunMatrix
from oncekit.testing.report import Finding

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


def test_the_second_operation_of_a_function_is_struck_as_the_first(
    application: TestCloud, once_matrix: RunMatrix
) -> None:
    named = application.once.parameters["Operations"]
    function = application.operations.named["hasty"].name
    with application.deployed_with({"Operations": f"{named},second={function}:live"}):
        application.put("StockTable", {"sku": "mug", "available": 1})
        report = once_matrix(asked("second"), states=False, seconds=LONG, check=False)
        application.run(asked("second"))
        assert [each.operation for each in application.invocations()] == ["second"]
        assert not application.invocations("hasty")
    assert ("twice", "sqs.send_message") in {(each.kind, each.place) for each in report.findings}


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


def test_an_effect_in_a_bucket_counts(application: TestCloud, once_matrix: RunMatrix) -> None:
    report = once_matrix(asked("filing"), states=False, seconds=LONG, check=False)
    [finding] = report.findings
    assert report.effects == ["papers"]
    assert (finding.kind, finding.place, finding.what) == ("twice", "papers", "2 instead of 1")
    assert [each.partition(" tests/")[0] for each in finding.strikes] == [
        "the function dies after",
        "another owner has finished before",
    ]


def test_what_waits_for_a_person_is_not_lost(application: TestCloud, once_matrix: RunMatrix) -> None:
    report = once_matrix({**asked("filing"), "onCrash": "quarantine"}, states=False, seconds=LONG, check=False)
    assert report.effects == ["papers"] and not report.findings


def test_what_may_repeat_may_not_be_lost_nor_differ(application: TestCloud, once_matrix: RunMatrix) -> None:
    application.put("StockTable", {"sku": "mug", "available": 1, "sold": 5})
    places = ["the end", "sqs.send_message"]
    report = once_matrix(asked("hasty"), states=False, may_repeat=places, seconds=LONG, check=False)
    assert sorted((each.kind, each.place) for each in report.findings) == [
        ("differs", "the end"),
        ("lost", "sqs.send_message"),
    ]


def test_the_promises_are_held_against_each_write_and_each_start(
    application: TestCloud, once_matrix: RunMatrix
) -> None:
    report = once_matrix(asked("meddling"), states=False, seconds=LONG, check=False)
    found = {(each.kind, each.place): each.what for each in report.findings}
    for finding, what in {
        ("broken", "P1"): "fence 2 became",
        ("twice", "P2"): "started 2 times under fence 2",
        ("broken", "P3"): "changed after it was COMPLETED",
        ("broken", "P4"): "work elsewhere changed ['leaseExpiresAt']",
        ("lost", "P5"): "its request changed under an open lock",
        ("broken", "P6"): "the payload changed under an open lock",
    }.items():
        assert what in found[finding]


def test_a_failure_that_is_tried_again_for_its_sender_is_no_finding(
    application: TestCloud, once_matrix: RunMatrix
) -> None:
    url = "https://api.provider.example/charges"
    application.outside.answer(url, {"error": "declined"}, status=402)
    request = {**asked("clients"), "payload": {"client": "declined", "url": url}, "onFailed": "retry"}
    report = once_matrix(request, states=False, seconds=LONG, check=False)
    assert not report.findings and len(report.strikes) == 5
