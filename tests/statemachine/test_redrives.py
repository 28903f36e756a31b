"""A dead owner that is revived to finish what it decided, by one of those that find it dead, and left in peace."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from latches import Latches
from scenario import A_LEASE, cause, dead, record_of, result, scripted

from oncekit.local import Execution, LocalCloud
from oncekit.local.faults import answers, before, fails, never_arrives, stale

Recover = Callable[..., Execution]
TWICE = ({"return": "done"}, {"return": "done twice"})


def died_in_finalize(cloud: LocalCloud, request: dict[str, Any]) -> Execution:
    with cloud.intercept(never_arrives(state="Finalize", nth=0)):
        return cloud.run(request)


def test_a_revived_owner_is_left_alone_by_a_late_duplicate(cloud: LocalCloud, latches: Latches) -> None:
    request = scripted(*TWICE)
    owner = died_in_finalize(cloud, request)
    second: list[Execution] = []

    def meanwhile() -> None:
        cloud.clock.advance(A_LEASE)
        with cloud.intercept(stale(state="CheckOwner", nth=0)):
            second.append(cloud.run(request))

    with cloud.intercept(before(meanwhile, state="Finalize")):
        cloud.run(request)
        assert cloud.wait(owner.arn).output["disposition"] == "EXECUTED"
    assert second[0].output["disposition"] == "IN_PROGRESS"
    assert record_of(cloud, request)["status"] == "COMPLETED"
    assert latches.starts() == 1


def test_a_claim_gives_the_owner_a_lease_of_its_own(cloud: LocalCloud, latches: Latches) -> None:
    request = scripted(*TWICE)
    died_in_finalize(cloud, request)
    leases: list[float] = []

    def look() -> None:
        leases.append(record_of(cloud, request)["leaseExpiresAt"] - cloud.clock.now())

    with cloud.intercept(before(look, state="RedriveOwner")):
        cloud.run(request)
    assert leases == [pytest.approx(120, abs=1)]


@pytest.mark.parametrize("code", ["ExecutionNotRedrivable", "ExecutionDoesNotExist"])
def test_refused_redrive_is_believed_only_after_the_owner_was_asked_again(
    cloud: LocalCloud, latches: Latches, code: str
) -> None:
    request = scripted(*TWICE)
    died_in_finalize(cloud, request)
    began = cloud.clock.now()
    with cloud.intercept(fails(code, state="RedriveOwner", nth=0)):
        duplicate = cloud.run(request)
    assert cause(duplicate)["name"] == "OwnerCannotFinish"
    at = duplicate.states.index("WaitForNews")
    assert (duplicate.states[at - 1], duplicate.states[at + 1]) == ("RedriveOwner", "CheckOwner")
    assert duplicate.states.count("RedriveOwner") == 1
    assert 30 <= cloud.clock.now() - began < 40
    assert (record_of(cloud, request)["status"], latches.starts()) == ("QUARANTINED", 1)


def test_redrive_that_was_refused_since_another_did_it_quarantines_nobody(cloud: LocalCloud, latches: Latches) -> None:
    request = scripted(*TWICE)
    owner = died_in_finalize(cloud, request)

    def by_hand() -> None:
        cloud.client("stepfunctions").redrive_execution(executionArn=owner.arn)

    with cloud.intercept(before(by_hand, state="RedriveOwner")):
        duplicate = cloud.run(request | {"onConflict": "wait"})
    assert "WaitForNews" in duplicate.states
    assert result(cloud, duplicate) == "done"
    assert latches.starts() == 1


@pytest.mark.usefixtures("deceived")
def test_refusal_of_one_redrive_does_not_count_for_a_later_death(cloud: LocalCloud, latches: Latches) -> None:
    request = scripted(*TWICE)
    owner = died_in_finalize(cloud, request)
    with cloud.intercept(
        fails("ExecutionNotRedrivable", state="RedriveOwner", nth=1),
        answers({"status": "RUNNING"}, state="CheckOwner", nth=2),
    ):
        waiting = cloud.run(request | {"onConflict": "wait"})
    assert waiting.states.count("RedriveOwner") == 2
    assert cloud.wait(owner.arn).status == "SUCCEEDED"
    assert record_of(cloud, request)["status"] == "COMPLETED"


def test_owner_whose_history_shows_no_end_counts_as_alive(cloud: LocalCloud, latches: Latches) -> None:
    request = scripted({"await": "go", "then": {"return": "mine"}}, {"return": "not mine"})
    owner = cloud.start(request)
    latches.wait_for_starts(1)
    cloud.clock.advance(A_LEASE)
    for status in ("FAILED", "TIMED_OUT", "ABORTED", "SUCCEEDED"):
        with cloud.intercept(answers({"status": status}, state="CheckOwner", nth=0)):
            duplicate = cloud.run(request)
        assert duplicate.output["disposition"] == "IN_PROGRESS"
        assert "ReadOwnerHistory" in duplicate.states
    latches.open("go")
    assert result(cloud, cloud.wait(owner)) == "mine"
    assert latches.starts() == 1


def test_claim_is_not_voided_by_an_event_of_the_death_that_comes_late_or_twice(
    cloud: LocalCloud, latches: Latches, recover: Recover
) -> None:
    request = scripted(*TWICE)
    owner = dead(cloud, request, "Finalize")
    late: list[Execution] = []

    def events() -> None:  # while the first recovery's execution is about to redrive the owner
        for n in range(7):
            arn = cloud.client("stepfunctions").start_execution(
                stateMachineArn=cloud.outputs["RecoveryStateMachineArn"],
                name=f"late-event-{n}",
                input=json.dumps({"executionArn": owner.arn, "status": "ABORTED"}),
            )["executionArn"]
            late.append(cloud.wait(arn))

    with cloud.intercept(before(events, state="RedriveOwner")):
        recover(owner)
    assert {each.output["left"] for each in late} == {1}
    record = record_of(cloud, request)
    assert (record["status"], record["recoveries"], latches.starts()) == ("COMPLETED", 1, 1)


def test_lease_that_was_claimed_meanwhile_is_not_ended(cloud: LocalCloud, latches: Latches, recover: Recover) -> None:
    request = scripted(*TWICE)
    owner = dead(cloud, request, "Finalize")
    cloud.clock.advance(A_LEASE)
    claimed: list[Execution] = []
    with cloud.intercept(before(lambda: claimed.append(cloud.run(request)), state="EndLease")):
        recover()
    assert "RedriveOwner" in claimed[0].states
    assert cloud.wait(owner.arn).status == "SUCCEEDED"
    assert "recoveries" not in record_of(cloud, request)


def test_quarantine_by_a_duplicate_does_not_strike_an_owner_that_was_claimed_since(
    cloud: LocalCloud, latches: Latches
) -> None:
    request = scripted(*TWICE)
    owner = died_in_finalize(cloud, request)
    third: list[Execution] = []

    def claim_and_redrive() -> None:  # while the first one is about to write that the owner cannot finish
        cloud.clock.advance(A_LEASE)
        third.append(cloud.run(request))

    with cloud.intercept(
        fails("ExecutionNotRedrivable", state="RedriveOwner", nth=1),
        before(claim_and_redrive, state="RecordQuarantine"),
    ):
        cloud.run(request)
    assert "RedriveOwner" in third[0].states
    assert cloud.wait(owner.arn).status == "SUCCEEDED"
    assert record_of(cloud, request)["status"] == "COMPLETED"


@pytest.mark.parametrize("error", ["NeedsAttention", "PermanentError", "LockLostError"])
def test_a_decision_is_not_made_again_when_its_owner_dies_on_hearing_it(
    cloud: LocalCloud, latches: Latches, recover: Recover, error: str
) -> None:
    request = scripted({"raise": error}, {"return": "done again"})
    owner = dead(
        cloud, request, {"PermanentError": "RecordFailure", "LockLostError": "ReadRecord"}.get(error, "KeepRequest")
    )
    heard = next(n for n, event in enumerate(owner.events) if event["type"] == "TaskFailed")
    cut = [*owner.events[: heard + 1], owner.events[-1]]
    assert cut[-1]["type"] == "ExecutionAborted"
    events = [{**event, "id": n} for n, event in enumerate(cut, start=1)]
    with cloud.intercept(answers({"events": events[::-1]}, state="ReadOwnerHistory", nth=0)):
        recover(owner)
    record = record_of(cloud, request)
    assert (record["status"], record["error"]["name"]) == ("QUARANTINED", "OwnerCannotFinish")
    assert "decided" in record["error"]["message"]
    assert latches.starts() == 1
