"""A record whose owner was never its own: a function with fenced steps can write any text there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from latches import Latches
from scenario import A_LEASE, by_recovery, cause, charge, dead, dies, operations, record_of, rows, scripted

from oncekit.local import Execution, LocalCloud
from oncekit.local.faults import fails

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


@pytest.mark.parametrize("ends", ["succeeded", "died", "lives"])
def test_request_of_another_is_not_started_redriven_or_stopped_as_this_records(
    cloud: LocalCloud, latches: Latches, recover: Recover, ends: str
) -> None:
    victim = scripted({"await": "go", "then": {"return": 1}}, {"return": 2}, tenant="victim", onCrash="quarantine")
    with cloud.lose_events():
        if ends == "died":
            with cloud.intercept(dies(cloud, BUSINESS)):
                owner = cloud.run(victim).arn
        else:
            owner = cloud.start(victim)
            latches.wait_for_starts(1)
        if ends == "succeeded":
            latches.open("go")
            cloud.wait(owner)
    left_by_a_dead_owner(cloud, charge(), owner)
    cloud.clock.advance(A_LEASE)
    before = {each.arn for each in operations(cloud)} if ends != "lives" else set()
    sweep(cloud)
    record = record_of(cloud, charge())
    assert (record["status"], record["error"]["name"]) == ("QUARANTINED", "ForeignOwner")
    latches.open("go")
    theirs = cloud.wait(owner)
    assert (theirs.status == "ABORTED") is (ends == "died"), "nobody redrove it, nobody stopped it"
    if ends == "succeeded":
        assert {each.arn for each in operations(cloud)} == before
    assert latches.starts() <= 1


def sweep(cloud: LocalCloud) -> None:
    started = cloud.client("stepfunctions").start_execution(
        stateMachineArn=cloud.outputs["RecoveryStateMachineArn"], name="sweep-foreign", input="{}"
    )
    assert cloud.wait(started["executionArn"]).status == "SUCCEEDED"


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


def test_event_of_an_owner_whose_record_no_state_can_carry_fails_the_run_and_ends_it_named(
    cloud: LocalCloud, recover: Recover
) -> None:
    with cloud.lose_events():
        owner = dead(cloud, charge(), BUSINESS)
        cloud.settle()
    spoil(cloud, charge(), "an owner")
    assert recover(owner).error == "RecoveryIncomplete"


def test_duplicate_of_a_record_that_no_state_can_carry_is_refused_by_name_and_kept(cloud: LocalCloud) -> None:
    with cloud.lose_events():
        dead(cloud, charge(), BUSINESS)
        cloud.settle()
    spoil(cloud, charge(), "an owner")
    duplicate = cloud.run(charge())
    assert duplicate.error == "Unavailable"
    assert "States.DataLimitExceeded" in cause(duplicate)["message"]
    assert [each["error"] for each in cloud.rejected()] == ["Unavailable"]


@pytest.mark.parametrize("recoveries", [{"S": "x"}, {"N": "1e120"}], ids=["a text", "a number without a meaning"])
def test_count_of_recoveries_that_is_none_keeps_no_other_from_being_recovered(
    cloud: LocalCloud, recover: Recover, recoveries: dict[str, str]
) -> None:
    with cloud.lose_events():
        dead(cloud, charge(key="evil"), BUSINESS)
        dead(cloud, charge(), BUSINESS)
        cloud.settle()
    cloud.client("dynamodb").update_item(
        TableName=cloud.resources["IdempotencyTable"],
        Key={"id": {"S": record_of(cloud, charge(key="evil"))["id"]}},
        UpdateExpression="SET recoveries = :value",
        ExpressionAttributeValues={":value": recoveries},
    )
    cloud.clock.advance(A_LEASE)
    recover()
    assert record_of(cloud, charge())["status"] == "COMPLETED"


def test_lock_of_an_owner_without_an_execution_is_freed_by_a_duplicate_in_the_full_lane(
    cloud: LocalCloud, recover: Recover
) -> None:
    """The fast lane hands a lock over once; where that came to nothing, a duplicate there does not help any more."""
    some = cloud.run(charge(key="some")).arn
    left_by_a_dead_owner(cloud, charge(), some.replace(some.rpartition(":")[2], "gone"))
    cloud.clock.advance(A_LEASE)
    with cloud.intercept(fails("ThrottlingException", state="CheckOwner", nth=0)):
        cloud.wait(cloud.start(charge(), lane="fast"))
        cloud.settle()
    assert recover().output["recovered"] == 0, "nobody has its request"
    cloud.wait(cloud.start(charge(), lane="fast"))
    cloud.settle()
    [handed_over] = [each for each in operations(cloud) if each.name.startswith("handover-")]
    assert handed_over.output["disposition"] == record_of(cloud, charge())["status"] == "IN_PROGRESS"
    assert cloud.run(charge()).output["disposition"] == "EXECUTED"
    assert rows(cloud, "ProviderLedgerTable") == 2
