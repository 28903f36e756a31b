"""A record whose owner was never its own: a function with fenced steps can write any text there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from scenario import A_LEASE, by_recovery, cause, charge, dead, record_of, rows

from oncekit.local import Execution, LocalCloud

Recover = Callable[..., Execution]
BUSINESS = "ExecuteBusinessLogic"


@pytest.fixture(autouse=True)
def invariants() -> None:
    """In place of the promises' journal: a lock that is forged has two owners by itself."""


def forge(cloud: LocalCloud, request: dict[str, Any], owner: str) -> None:
    cloud.client("dynamodb").update_item(
        TableName=cloud.resources["IdempotencyTable"],
        Key={"id": {"S": record_of(cloud, request)["id"]}},
        UpdateExpression="SET #o = :owner",
        ExpressionAttributeNames={"#o": "owner"},
        ExpressionAttributeValues={":owner": {"S": owner}},
    )


def left_by_a_dead_owner(cloud: LocalCloud, request: dict[str, Any], owner: str) -> None:
    with cloud.lose_events():
        dead(cloud, request, BUSINESS)
        cloud.settle()
    forge(cloud, request, owner)


def elsewhere(arn: str) -> dict[str, str]:
    machine = arn.split(":")[-2]
    return {
        "another machine": arn.replace(machine, "Payroll"),
        "another account": arn.replace(":123456789012:", ":999999999999:"),
        "no execution": arn.replace(":execution:", ":stateMachine:"),
        "no name": arn.rpartition(":")[0] + ":",
        "no ARN": "me",
    }


@pytest.mark.parametrize("owner", ["another machine", "another account", "no execution", "no name", "no ARN"])
@pytest.mark.parametrize("who", ["a sweep", "a duplicate"])
def test_owner_out_of_this_machine_ends_in_quarantine_and_is_never_asked_after(
    cloud: LocalCloud, recover: Recover, who: str, owner: str
) -> None:
    some = cloud.run(charge(key="some")).arn
    left_by_a_dead_owner(cloud, charge(), elsewhere(some)[owner])
    cloud.clock.advance(A_LEASE)
    if who == "a sweep":
        assert recover().status == "SUCCEEDED"
    duplicate = cloud.run(charge())
    assert (duplicate.error, cause(duplicate)["name"]) == ("NeedsAttention", "ForeignOwner")
    assert record_of(cloud, charge())["status"] == "QUARANTINED"
    assert (by_recovery(cloud), cloud.denials()) == ([], ())
    assert rows(cloud, "ProviderLedgerTable") == 1


UNREADABLE = {
    "an owner": ("owner", {"S": "x" * 300_000}),
    "a fence": ("fence", {"SS": ["x" * 300_000]}),
    "a long owner": ("owner", {"S": "x" * 200_000}),
}


def spoil(cloud: LocalCloud, request: dict[str, Any], what: str) -> None:
    name, value = UNREADABLE[what]
    cloud.client("dynamodb").update_item(
        TableName=cloud.resources["IdempotencyTable"],
        Key={"id": {"S": record_of(cloud, request)["id"]}},
        UpdateExpression="SET #name = :value",
        ExpressionAttributeNames={"#name": name},
        ExpressionAttributeValues={":value": value},
    )


@pytest.mark.parametrize("what", UNREADABLE)
def test_record_that_no_state_can_carry_keeps_no_other_from_being_recovered(
    cloud: LocalCloud, recover: Recover, what: str
) -> None:
    """The attack: an overdue record with an owner or a fence above 256 KiB, and an honest dead owner beside it."""
    with cloud.lose_events():
        dead(cloud, charge(key="evil"), BUSINESS)
        dead(cloud, charge(), BUSINESS)
        cloud.settle()
    spoil(cloud, charge(key="evil"), what)
    cloud.clock.advance(A_LEASE)
    swept = recover()
    assert record_of(cloud, charge())["status"] == "COMPLETED"
    if what == "a long owner":
        assert record_of(cloud, charge(key="evil"))["error"]["name"] == "ForeignOwner"
    else:
        assert (swept.error, cause(swept)["recovered"], cause(swept)["failed"]) == ("RecoveryIncomplete", 1, 1)


def test_duplicate_of_a_record_that_no_state_can_carry_is_refused_by_name_and_kept(cloud: LocalCloud) -> None:
    with cloud.lose_events():
        dead(cloud, charge(), BUSINESS)
        cloud.settle()
    spoil(cloud, charge(), "an owner")
    duplicate = cloud.run(charge())
    assert duplicate.error == "Unavailable"
    assert "States.DataLimitExceeded" in cause(duplicate)["message"]
    assert [each["error"] for each in cloud.rejected()] == ["Unavailable"]
