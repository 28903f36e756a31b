"""Owners that die, records that expire, zombies: what a later request makes of them, or waits for, in the full lane."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from latches import Latches
from late_calls import answers
from scenario import A_LEASE, LANES, begun_again, believed_dead, died, record_of, result, scripted

from oncekit.contract.lanes import Lane
from oncekit.local import Execution, LocalCloud
from oncekit.local.engine.interceptors import before


def test_lock_of_a_dead_owner_is_left_alone_within_its_lease(cloud: LocalCloud, latches: Latches) -> None:
    request = scripted({"await": "go", "then": {"return": "first"}}, {"return": "second"})
    owner = cloud.start(request)
    latches.wait_for_starts(1)
    cloud.stop(owner)
    lease = record_of(cloud, request)["leaseExpiresAt"]
    cloud.clock.advance(lease - int(cloud.clock.now()))
    assert cloud.run(request).output["disposition"] == "IN_PROGRESS"
    cloud.clock.advance(1)
    assert cloud.run(request).output["disposition"] == "EXECUTED"


def test_a_duplicate_tries_again_as_the_record_allows_not_as_it_asks(
    cloud: LocalCloud, latches: Latches, recover: Callable[[], Execution]
) -> None:
    request = scripted({"exit": 1}, {"return": 2}, onCrash="quarantine")
    died(cloud, request, "full")
    recover()
    begun_again(cloud, request)
    assert cloud.run(request | {"onCrash": "retry"}).error == "NeedsAttention"
    assert (record_of(cloud, request)["status"], latches.starts()) == ("QUARANTINED", 1)


@LANES
def test_a_duplicate_takes_over_and_the_record_says_from_whom(cloud: LocalCloud, latches: Latches, lane: Lane) -> None:
    request = scripted({"return": "done"}, {"await": "go", "then": {"return": "done"}})
    owner = died(cloud, request, lane)
    heir = cloud.start(request)
    latches.wait_for_starts(1)
    record = record_of(cloud, request)
    assert (record["error"]["name"], owner.arn in record["error"]["message"]) == ("OwnerEnded", True)
    assert (record["owner"], record["fence"], record["attempts"], "request" in record) == (heir, 2, 2, True)
    latches.open("go")
    assert result(cloud, cloud.wait(heir)) == "done"


@pytest.mark.parametrize(("conflict", "end"), [("acknowledge", "IN_PROGRESS"), ("reject", "OperationInProgress")])
def test_a_live_owner_with_an_old_lease_is_met_as_onconflict_says(
    cloud: LocalCloud, latches: Latches, conflict: str, end: str
) -> None:
    request = scripted({"await": "go", "then": {"return": "mine"}})
    owner = cloud.start(request)
    latches.wait_for_starts(1)
    cloud.clock.advance(A_LEASE)
    duplicate = cloud.run(request | {"onConflict": conflict})
    assert end in (duplicate.error, (duplicate.output or {}).get("disposition"))
    assert "CheckOwner" in duplicate.states
    latches.open("go")
    assert (result(cloud, cloud.wait(owner)), latches.starts()) == ("mine", 1)


@pytest.mark.usefixtures("each_reading")
def test_an_owner_whose_description_is_too_large_counts_as_alive(cloud: LocalCloud, latches: Latches) -> None:
    request = scripted({"await": "go", "then": {"return": "mine"}})
    cloud.start(request)
    latches.wait_for_starts(1)
    cloud.clock.advance(A_LEASE)
    with cloud.intercept(answers({"status": "ABORTED", "input": "x" * 300_000}, state="CheckOwner", nth=1)):
        duplicate = cloud.run(request)
    assert (duplicate.error, duplicate.output["disposition"]) == (None, "IN_PROGRESS")
    latches.open("go")


def test_owner_that_completes_before_the_take_over_keeps_its_answer(cloud: LocalCloud, latches: Latches) -> None:
    request = scripted({"await": "go", "then": {"return": "mine"}}, {"return": "not mine"})
    owner = cloud.start(request)
    latches.wait_for_starts(1)
    cloud.clock.advance(A_LEASE)

    def complete() -> None:
        latches.open("go")
        cloud.wait(owner)

    with cloud.intercept(believed_dead(), before(complete, state="TakeNextFence")):
        duplicate = cloud.run(request)
    assert duplicate.output["disposition"] == "REPLAYED"
    assert result(cloud, duplicate) == "mine"
    assert latches.starts() == 1


@pytest.mark.usefixtures("deceived")
@pytest.mark.parametrize(
    ("state", "script"),
    [
        ("Finalize", {"return": "first"}),
        ("RecordFailure", {"raise": "PermanentError"}),
        ("RecordQuarantine", {"raise": "NeedsAttention"}),
        ("TakeNextFence", {"raise": "Weather"}),
    ],
)
def test_an_owner_that_was_replaced_before_its_end_gives_its_heirs_answer(
    cloud: LocalCloud, latches: Latches, state: str, script: dict[str, str]
) -> None:
    request = scripted(script, {"return": "second"})

    def replaced() -> None:
        cloud.clock.advance(A_LEASE)
        with cloud.intercept(believed_dead()):
            cloud.run(request)

    with cloud.intercept(before(replaced, state=state)):
        owner = cloud.run(request)
    assert (owner.error, result(cloud, owner)) == (None, "second")
    record = record_of(cloud, request)
    assert (record["status"], record["fence"], latches.starts()) == ("COMPLETED", 2, 2)


@pytest.mark.usefixtures("deceived")
def test_zombie_whose_record_has_expired_says_that_it_lost_the_lock(cloud: LocalCloud, latches: Latches) -> None:
    request = scripted({"await": "go", "then": {"return": "zombie"}}, {"return": "winner"})
    zombie = cloud.start(request)
    latches.wait_for_starts(1)
    cloud.clock.advance(A_LEASE)
    with cloud.intercept(believed_dead()):
        cloud.run(request)
    cloud.clock.advance(31 * 86_400)
    latches.open("go")
    assert cloud.wait(zombie).error == "LockLost"
    assert latches.starts() == 2


def test_two_who_find_one_owner_dead_take_over_once(cloud: LocalCloud, latches: Latches) -> None:
    request = scripted({"return": 1}, {"return": 2}, {"return": 3})
    died(cloud, request, "full")
    with cloud.intercept(before(lambda: cloud.run(request), state="TakeNextFence")):
        late = cloud.run(request)
    assert (late.output["disposition"], record_of(cloud, request)["fence"], latches.starts()) == ("REPLAYED", 2, 1)


@pytest.mark.usefixtures("deceived")
def test_a_redriven_owner_whose_lock_was_taken_over_changes_nothing(cloud: LocalCloud, latches: Latches) -> None:
    """A person may redrive an execution on AWS at any time."""
    request = scripted({"return": "first"}, {"return": "second"})
    owner = died(cloud, request, "full")
    assert result(cloud, cloud.run(request)) == "second"
    before = record_of(cloud, request)
    cloud.client("stepfunctions").redrive_execution(executionArn=owner.arn)
    ended = cloud.wait(owner.arn)
    assert record_of(cloud, request) == before, ended


def test_waiting_duplicate_gives_up_at_the_deadline(cloud: LocalCloud, latches: Latches) -> None:
    request = scripted({"await": "go", "then": {"return": 1}})
    owner = cloud.start(request)
    latches.wait_for_starts(1)
    waiter = cloud.start(request | {"onConflict": "wait"})
    for _ in range(100):
        cloud.clock.advance(30)
        time.sleep(0.005)  # real time for the waiter to look at the record
        if cloud.describe(waiter).status != "RUNNING":
            break
    assert cloud.wait(waiter).error == "OperationInProgress"
    latches.open("go")
    cloud.wait(owner)
