"""The operation machine as an Express one: nobody can ask whether its owner lives, so the lease alone decides."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from scenario import cause, charge, id_of, record_of, result, rows

from local import Execution, LocalCloud
from local.engine import Call
from local.faults import fails

pytestmark = pytest.mark.ours

A_LEASE = 1000
"""Seconds after which any lease is over."""


@pytest.fixture
def express(cloud: LocalCloud) -> Iterator[LocalCloud]:
    with cloud.deployed_with({"StateMachineType": "EXPRESS"}):
        yield cloud


def owner_that_died(cloud: LocalCloud, request: dict[str, Any]) -> Execution:
    """It did its work, could not store the result, and was ended by the five minutes of an Express execution."""
    with cloud.intercept(fails("InternalServerError", status=500, state="Finalize", nth=0)):
        owner = cloud.run(request)
    assert owner.status in ("TIMED_OUT", "FAILED")
    assert record_of(cloud, request)["owner"] == owner.arn
    assert ":express:" in owner.arn
    return owner


def _set_lease(cloud: LocalCloud, until: float) -> None:
    cloud.client("dynamodb").update_item(
        TableName=cloud.outputs["TableName"],
        Key={"id": {"S": id_of(charge())}},
        UpdateExpression="SET leaseExpiresAt = :until",
        ExpressionAttributeValues={":until": {"N": str(int(until))}},
    )


def test_request_is_executed_once_and_replayed(express: LocalCloud) -> None:
    first, second = express.run(charge()), express.run(charge())
    assert (first.output["disposition"], second.output["disposition"]) == ("EXECUTED", "REPLAYED")
    assert result(express, first) == result(express, second)
    assert rows(express, "ProviderLedgerTable") == 1


def test_lease_of_an_express_owner_is_respected_until_it_is_over(express: LocalCloud) -> None:
    owner = owner_that_died(express, charge())
    _set_lease(express, express.clock.now() + 60)
    assert express.run(charge()).output["disposition"] == "IN_PROGRESS"
    assert record_of(express, charge())["owner"] == owner.arn


def test_stale_express_owner_is_taken_over_without_being_asked(express: LocalCloud) -> None:
    owner_that_died(express, charge())
    express.clock.advance(A_LEASE)
    asked: list[str] = []

    def listen(call: Call, proceed: Any) -> Any:
        asked.append(call.service)
        return proceed()

    with express.intercept(listen):
        successor = express.run(charge())
    assert successor.output["disposition"] == "EXECUTED"
    assert "stepfunctions" not in asked
    record = record_of(express, charge())
    assert (record["status"], record["owner"], record["fence"], record["attempts"]) == (
        "COMPLETED",
        successor.arn,
        2,
        2,
    )
    assert rows(express, "ProviderLedgerTable") == 1


def test_stale_express_owner_is_quarantined_when_its_request_says_so(express: LocalCloud) -> None:
    request = charge(onCrash="quarantine")
    owner_that_died(express, request)
    express.clock.advance(A_LEASE)
    successor = express.run(request)
    assert successor.error == "NeedsAttention"
    record = record_of(express, request)
    assert (record["status"], record["attempts"]) == ("QUARANTINED", 1)
    assert "expiresAt" not in record
    assert cause(successor)
    assert len(express.invocations("charge-payment")) == 1
