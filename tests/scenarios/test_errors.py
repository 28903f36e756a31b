"""How a request ends after an error of business logic."""

from __future__ import annotations

import pytest
from scenarios.scene import Scene, without_policies

pytestmark = [pytest.mark.longest(60), pytest.mark.aws(unconfirmed="V4")]
CRASHED = ("Runtime.ExitError", "Lambda.Unknown")
"""What Lambda says, and what Step Functions' manual says that it makes of what Lambda cannot explain."""


def test_permanent_error_is_recorded_and_replayed_to_every_duplicate(scene: Scene) -> None:
    request = scene.scripted({"raises": "PermanentError", "message": "the account is closed"})
    first, again = scene.run(request), scene.run(request)
    assert first.error == again.error == "OperationFailed"
    assert first.cause == again.cause
    assert (first.cause["name"], first.cause["message"]) == ("PermanentError", "the account is closed")
    assert scene.record_in(request, "FAILED")["error"]["message"] == "the account is closed"
    assert scene.starts(request) == 1


def test_a_failed_operation_is_tried_again_by_a_later_request_that_asks_for_it(scene: Scene) -> None:
    request = scene.scripted({"raises": "PermanentError"}, {"returns": "second"}, onFailed="retry")
    assert scene.run(request).error == "OperationFailed"
    ended = scene.run(request)
    assert (ended.disposition, scene.answer(ended)) == ("EXECUTED", b'"second"')
    assert scene.run(request).disposition == "REPLAYED", "what has succeeded is not tried again"
    assert scene.starts(request) == 2


def test_a_try_after_a_failure_does_not_do_again_what_a_step_has_done(scene: Scene) -> None:
    sku = scene.key()
    failing = {"takes": sku, "raises": "PermanentError"}
    request = scene.scripted(failing, failing, {"takes": sku, "returns": "third"}, onFailed="retry")
    assert [scene.run(request).error for _ in range(2)] == ["OperationFailed"] * 2
    assert scene.run(request).disposition == "EXECUTED"
    assert (scene.starts(request), scene.orders(request), scene.taken(sku)) == (3, 1, 1)


def test_a_failed_operation_is_not_tried_again_unless_a_request_asks_for_it(scene: Scene) -> None:
    request = scene.scripted({"raises": "PermanentError"}, {"returns": "second"})
    assert [scene.run(request).error for _ in range(2)] == ["OperationFailed"] * 2
    assert scene.run({**request, "onFailed": "retry"}).disposition == "EXECUTED"


def test_declined_card_charges_nothing(scene: Scene) -> None:
    request = scene.charge()
    request["payload"]["card"] = "declined"
    first, again = scene.run(request), scene.run(request)
    assert first.error == again.error == "OperationFailed"
    assert first.cause == again.cause
    assert scene.charges(request) == 0


def test_passing_error_is_retried_and_succeeds_with_attempt_two(scene: Scene) -> None:
    """In the fast lane by the full one, for which it waits."""
    request = scene.scripted({"raises": "ConnectionError"}, {"returns": "second"}, onConflict="wait")
    ended = scene.run(request)
    told = (ended.disposition, ended.output["attempt"], scene.answer(ended))
    assert told == ("REPLAYED" if scene.lane == "fast" else "EXECUTED", 2, b'"second"')
    record = scene.record_in(request, "COMPLETED")
    assert (record["fence"], record["attempts"]) == (2, 2)
    assert scene.ends(request) == ["ConnectionError", ""]


def test_function_that_crashes_is_retried_and_its_step_is_not_done_twice(scene: Scene) -> None:
    sku = scene.key()
    request = scene.scripted({"takes": sku, "exits": 3}, {"takes": sku, "returns": "second"}, onConflict="wait")
    ended = scene.run(request)
    assert (ended.output["attempt"], scene.answer(ended)) == (2, b'"second"')
    assert scene.starts(request) == 2
    assert (scene.orders(request), scene.taken(sku)) == (1, 1)


def test_a_crash_that_must_not_be_repeated_is_quarantined_with_its_request(scene: Scene) -> None:
    request = scene.scripted({"exits": 3}, {"returns": "never"}, onCrash="quarantine")
    assert scene.run(request).error == "NeedsAttention"
    assert scene.run(request).error == "NeedsAttention"
    record = scene.record_in(request, "QUARANTINED")
    assert record["error"]["name"] in CRASHED
    assert scene.kept_request(record) == without_policies(request)
    assert scene.starts(request) == 1


def test_business_logic_that_asks_for_attention_is_quarantined(scene: Scene) -> None:
    request = scene.scripted({"raises": "NeedsAttention", "message": "the provider's answer makes no sense"})
    first, again = scene.run(request), scene.run(request)
    assert first.error == again.error == "NeedsAttention"
    assert again.cause["message"] == "the provider's answer makes no sense"
    record = scene.record_in(request, "QUARANTINED")
    assert "expiresAt" not in record and record["error"]["name"] == "NeedsAttention"
    assert scene.starts(request) == 1


def test_operation_without_a_function_is_refused_and_kept_and_leaves_no_lock(scene: Scene) -> None:
    request = scene.request("no-such-operation", {})
    ended = scene.run(request)
    assert ended.error == "InvalidRequest"
    assert ended.cause["message"].startswith("operation no-such-operation has no function; there are: ")
    [kept] = scene.refused(request["idempotencyKey"])
    assert (kept["error"], kept["input"]) == ("InvalidRequest", request)
    assert scene.record(request) is None
