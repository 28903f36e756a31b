"""The consumer of docs/announcements.md: an operation that runs once for each end, however often it is announced."""

from __future__ import annotations

from typing import Any

import pytest

from oncekit.testing.kit_cloud import TestCloud
from oncekit.testing.plugin import RunMatrix

CHARGE = {"operation": "charge-payment", "idempotencyKey": "o-1", "payload": {"item": "tea", "quantity": 2}}


def heard(cloud: TestCloud) -> list[dict[str, Any]]:
    """The ends of which the consumer was told, as its function got them."""
    cloud.settle()
    return [each.event["payload"] for each in cloud.invocations("send-receipt")]


def test_the_consumer_runs_for_the_end_of_the_operation_and_not_for_its_own(cloud: TestCloud) -> None:
    assert cloud.run(CHARGE).output["disposition"] == "EXECUTED"
    [detail] = heard(cloud)
    assert (detail["id"], detail["status"]) == ("default#charge-payment#o-1", "COMPLETED")
    record = cloud.record(f"default#send-receipt#{detail['key']}")
    assert record is not None and record["status"] == "COMPLETED"


@pytest.mark.parametrize("kind", ["mapping", "rule"])
def test_the_consumer_runs_once_for_an_end_that_is_announced_twice(cloud: TestCloud, kind: str) -> None:
    with cloud.lose_events(lambda delivery: (0.0, 5.0) if delivery.kind == kind else (0.0,)):
        cloud.run(CHARGE)
        assert len(heard(cloud)) == 1


def test_the_end_is_heard_once_wherever_the_operation_is_struck(cloud: TestCloud) -> None:
    assert RunMatrix(cloud)(CHARGE).strikes
