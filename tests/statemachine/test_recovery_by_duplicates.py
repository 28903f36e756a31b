"""Owners that die, records that expire, zombies: what a later request makes of them."""

from __future__ import annotations

from typing import Any

import pytest
from latches import Latches
from scenario import believed_dead, dead, record_of, result, scripted

from oncekit.local import Execution, LocalCloud
from oncekit.local.faults import before, fails

A_LEASE = 3600


def dead_owner(cloud: LocalCloud, latches: Latches, request: dict[str, Any]) -> Execution:
    """An owner that is stopped while its business logic runs, with its lease over."""
    owner = cloud.start(request)
    latches.wait_for_starts(1)
    stopped = cloud.stop(owner)
    cloud.clock.advance(A_LEASE)
    return stopped


def test_expired_record_counts_as_gone_and_the_operation_runs_again(cloud: LocalCloud, plain: str) -> None:
    request = {"operation": plain, "idempotencyKey": "k", "payload": {"n": 1}}
    other = {**request, "payload": {"n": 2}}
    cloud.run(request)
    cloud.clock.advance(30 * 86_400)
    assert cloud.run(request).output["disposition"] == "REPLAYED"
    cloud.clock.advance(1)
    again = cloud.run(other)
    assert again.output["disposition"] == "EXECUTED"
    record = record_of(cloud, request)
    assert (record["fence"], record["attempts"], record["status"]) == (2, 1, "COMPLETED")


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


def test_operation_of_a_dead_owner_that_must_not_run_again_is_quarantined(cloud: LocalCloud, latches: Latches) -> None:
    request = scripted({"await": "go", "then": {"return": 1}}, onCrash="quarantine")
    dead_owner(cloud, latches, request)
    # The record's policy counts, not the duplicate's.
    assert cloud.run(request | {"onCrash": "retry"}).error == "NeedsAttention"
    assert latches.starts() == 1
    assert record_of(cloud, request)["error"]["name"] == "OwnerCrashed"


def test_owner_that_dies_before_it_keeps_its_answer_is_not_begun_again(cloud: LocalCloud, latches: Latches) -> None:
    request = scripted({"return": "done"}, {"return": "done twice"})
    dead(cloud, request, "Finalize")
    cloud.clock.advance(A_LEASE)
    assert result(cloud, cloud.run(request | {"onConflict": "wait"})) == "done"
    assert (record_of(cloud, request)["status"], latches.starts()) == ("COMPLETED", 1)


def test_lease_that_is_over_does_not_cost_a_live_owner_its_lock(cloud: LocalCloud, latches: Latches) -> None:
    request = scripted({"await": "go", "then": {"return": "mine"}})
    owner = cloud.start(request)
    latches.wait_for_starts(1)
    cloud.clock.advance(A_LEASE)
    duplicate = cloud.run(request)
    assert "CheckOwner" in duplicate.states
    assert duplicate.output["disposition"] == "IN_PROGRESS"
    latches.open("go")
    assert result(cloud, cloud.wait(owner)) == "mine"
    assert latches.starts() == 1


def test_owner_that_cannot_be_asked_counts_as_alive(cloud: LocalCloud, latches: Latches) -> None:
    request = scripted({"await": "go", "then": {"return": 1}}, {"return": 2})
    dead_owner(cloud, latches, request)
    with cloud.intercept(fails("ThrottlingException", state="CheckOwner", nth=0)):
        assert cloud.run(request).output["disposition"] == "IN_PROGRESS"
    with cloud.intercept(fails("ThrottlingException", state="ReadOwnerHistory", nth=0)):
        assert cloud.run(request).output["disposition"] == "IN_PROGRESS"
    assert latches.starts() == 1


def test_owner_that_completes_before_the_take_over_keeps_its_answer(cloud: LocalCloud, latches: Latches) -> None:
    request = scripted({"await": "go", "then": {"return": "mine"}}, {"return": "not mine"})
    owner = cloud.start(request)
    latches.wait_for_starts(1)
    cloud.clock.advance(A_LEASE)

    def complete() -> None:
        latches.open("go")
        cloud.wait(owner)

    with cloud.intercept(*believed_dead(), before(complete, state="TakeOverLock")):
        duplicate = cloud.run(request)
    assert duplicate.output["disposition"] == "REPLAYED"
    assert result(cloud, duplicate) == "mine"
    assert latches.starts() == 1


@pytest.mark.usefixtures("deceived")
def test_zombie_whose_record_has_expired_says_that_it_lost_the_lock(cloud: LocalCloud, latches: Latches) -> None:
    request = scripted({"await": "go", "then": {"return": "zombie"}}, {"return": "winner"})
    zombie = cloud.start(request)
    latches.wait_for_starts(1)
    cloud.clock.advance(A_LEASE)
    with cloud.intercept(*believed_dead()):
        cloud.run(request)
    cloud.clock.advance(31 * 86_400)
    latches.open("go")
    assert cloud.wait(zombie).error == "LockLost"
    assert latches.starts() == 2
