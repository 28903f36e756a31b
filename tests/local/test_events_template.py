"""The project's own template, with its events delivered."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from oncekit.local import LocalCloud
from oncekit.local.engine import Call

pytestmark = pytest.mark.ours

REQUEST = {"operation": "charge-payment", "payload": {"orderId": "1", "amount": 100, "currency": "EUR"}}


@pytest.fixture
def delivering(cloud: LocalCloud) -> Iterator[LocalCloud]:
    with cloud.delivering():
        yield cloud
    cloud.reset()


def dies_before_its_work(cloud: LocalCloud, key: str) -> None:
    """An owner is stopped while it holds the lock, before business logic is called."""
    died: list[str] = []

    def stop(call: Call, proceed: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        if call.service == "lambda" and not died:
            died.append(call.execution_arn)
            cloud.client("stepfunctions").stop_execution(executionArn=call.execution_arn)
            raise ConnectionError
        return proceed()

    with cloud.intercept(stop):
        assert cloud.run({**REQUEST, "idempotencyKey": key}).status == "ABORTED"
        cloud.settle()


def test_dead_owner_is_found_by_its_event(delivering: LocalCloud) -> None:
    dies_before_its_work(delivering, "by-event")
    record = delivering.record("default#charge-payment#by-event")
    assert record is not None
    assert record["status"] == "COMPLETED"
    assert [each.kind for each in delivering.deliveries()] == ["rule"]


def test_dead_owner_whose_event_is_lost_is_found_by_the_schedule(delivering: LocalCloud) -> None:
    clock: Any = delivering.clock
    with delivering.lose_events():
        dies_before_its_work(delivering, "by-schedule")
    record = delivering.record("default#charge-payment#by-schedule")
    assert record is not None
    assert record["status"] == "IN_PROGRESS"
    clock.advance(600)
    delivering.settle()
    record = delivering.record("default#charge-payment#by-schedule")
    assert record is not None
    assert record["status"] == "COMPLETED"


def test_success_and_refusal_set_nothing_off(delivering: LocalCloud) -> None:
    delivering.run({**REQUEST, "idempotencyKey": "fine"})
    delivering.run({**REQUEST, "idempotencyKey": ""})
    delivering.settle()
    assert delivering.deliveries() == ()


def test_cloud_that_delivers_nothing_leaves_the_dead_alone(cloud: LocalCloud) -> None:
    clock: Any = cloud.clock
    dies_before_its_work(cloud, "alone")
    clock.advance(3600)
    record = cloud.record("default#charge-payment#alone")
    assert record is not None
    assert record["status"] == "IN_PROGRESS"
    assert cloud.deliveries() == ()
