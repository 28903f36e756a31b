"""Faults by name: each strikes at its place, and Once brings the operation to its end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from oncekit.testing import answer_lost, function_crashes, owner_dies, runs_twice
from oncekit.testing.faults import NeverHappened, NoSuchPlace
from oncekit.testing.kit_cloud import Fault, TestCloud

EVENTS = Path(__file__).parents[3] / "events"
ORDER: dict[str, Any] = json.loads((EVENTS / "place-order.json").read_text())


@pytest.mark.parametrize(
    ("faults", "attempts"),
    [
        ([owner_dies(after="step:place")], 2),
        ([function_crashes(after="step:place")], 2),
        ([answer_lost(of="step:place")], 1),
    ],
    ids=["owner", "function", "answer"],
)
def test_an_order_is_placed_once_whatever_happens(once_cloud: TestCloud, faults: list[Fault], attempts: int) -> None:
    with once_cloud.fault(*faults):
        once_cloud.start(ORDER)
        once_cloud.recover()
    answered = once_cloud.run(ORDER)
    assert answered.output["disposition"] == "REPLAYED" and len(once_cloud.rows("OrdersTable")) == 1
    assert answered.output["attempt"] == attempts


def test_a_death_is_found_when_the_lease_is_over(once_cloud: TestCloud) -> None:
    with once_cloud.fault(owner_dies(after="step:place")):
        once_cloud.start(ORDER)
        once_cloud.settle()
        assert once_cloud.open_records() == ["acme#place-order#basket-77"]
        once_cloud.recover()
    assert not once_cloud.open_records() and len(once_cloud.rows("OrdersTable")) == 1


def test_an_execution_in_the_fast_lane_runs_twice_and_orders_once(once_cloud: TestCloud) -> None:
    with once_cloud.fault(runs_twice()):
        assert once_cloud.finish(CHARGE, lane="fast").output["disposition"] == "REPLAYED"
    assert len(once_cloud.rows("ProviderLedgerTable")) == 1


def test_each_test_has_a_clean_cloud(once_cloud: TestCloud) -> None:
    assert not once_cloud.rows("OrdersTable") and not once_cloud.watch.calls and not once_cloud.invocations()


def test_a_place_that_is_no_place_is_said(once_cloud: TestCloud) -> None:
    with pytest.raises(NoSuchPlace, match="no state Finalise"), once_cloud.fault(owner_dies(before="Finalise")):
        pass
    with pytest.raises(NoSuchPlace, match="no state Finalise"), once_cloud.fault(answer_lost(of="Finalise")):
        pass
    with pytest.raises(NoSuchPlace, match="either before= or after="):
        owner_dies()
    with pytest.raises(NoSuchPlace, match="does not run in Finalize"):
        function_crashes(after="Finalize")


CHARGE: dict[str, Any] = json.loads((EVENTS / "charge-payment.json").read_text())
NEVER = {
    "runs_twice": (runs_twice(), r"runs_twice\(\) did not happen: no execution was started in the fast lane"),
    "state": (
        owner_dies(before="BackOff"),
        r'owner_dies\(before="BackOff"\) did not happen: BackOff was reached 0 times',
    ),
    "no call there": (answer_lost(of="ReceiveRequest"), "or makes no call"),
    "step": (function_crashes(after="step:pay"), "step:pay was reached 0 times; the functions made begin, .*end"),
    "call": (answer_lost(of="call:s3.put_object"), "the functions made begin, .*call:dynamodb"),
    "nth": (owner_dies(after="AcquireLock", nth=3), r", nth=3\) did not happen: AcquireLock was reached 2 times"),
}


@pytest.mark.parametrize(("fault", "why"), NEVER.values(), ids=NEVER)
def test_a_fault_that_never_happened_fails_the_test_and_says_why(once_cloud: TestCloud, fault: Fault, why: str) -> None:
    with pytest.raises(NeverHappened, match=why), once_cloud.fault(fault):
        once_cloud.finish(CHARGE)


def test_recovery_is_no_execution_in_the_fast_lane(once_cloud: TestCloud) -> None:
    with pytest.raises(NeverHappened, match="fast lane"), once_cloud.fault(runs_twice(), owner_dies(before="Finalize")):
        once_cloud.finish(CHARGE)


def test_an_error_of_the_test_itself_is_told_and_not_that_of_the_fault(once_cloud: TestCloud) -> None:
    with pytest.raises(ZeroDivisionError), once_cloud.fault(runs_twice()):
        1 / 0  # noqa: B018


def test_a_fault_can_be_used_again(once_cloud: TestCloud) -> None:
    fault = owner_dies(after="AcquireLock")
    for key in ("a", "b"):
        with once_cloud.fault(fault):
            once_cloud.finish({**CHARGE, "idempotencyKey": key})


def test_a_provider_answers_as_the_test_says_and_knows_a_key_again(application: TestCloud) -> None:
    application.outside.answer("https://api.provider.example/charges", lambda sent: {"id": f"of {sent.body}"})
    application.put("StockTable", {"sku": "mug", "available": 1})
    request = {"operation": "careful", "idempotencyKey": "k", "payload": {"amount": 7}}
    with application.fault(answer_lost(of="call:POST https://api.provider.example")):
        answer = application.finish(request).output
    assert json.loads(answer["result"])["charge"] == 'of {"amount": 7}'
    assert [each.effect for each in application.outside.sent] == [True, False]
