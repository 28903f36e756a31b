"""The fast lane: what goes well ends there, and what does not goes on in the full lane, exactly once."""

from __future__ import annotations

import pytest
from latches import Latches
from scenario import (
    BUSINESS,
    charge,
    died,
    ends_in,
    operations,
    record_of,
    released,
    rows,
    run,
    scripted,
)

from oncekit.local import LocalCloud
from oncekit.local.engine.interceptors import before, never_arrives, runs_twice

A_RUN = 300
"""Seconds after which AWS ends an execution of the fast lane."""


def settle(cloud: LocalCloud) -> None:
    """Every run of the fast lane is over: two of one execution have one ARN."""
    for machine in cloud.executions.machines:
        for execution in list(machine.executions):
            execution.run.join(5)


def test_a_lease_lasts_as_long_as_its_execution_and_its_function_can(cloud: LocalCloud, latches: Latches) -> None:
    """Nobody can ask an owner in the fast lane whether it is alive."""
    request = scripted({"await": "go", "then": {"return": 1}})
    begun = cloud.clock.now()
    arn = cloud.start(request, lane="fast")
    latches.wait_for_starts(1)
    timeout = int(cloud.parameters["BusinessTimeoutSeconds"])
    assert record_of(cloud, request)["leaseExpiresAt"] - begun > A_RUN + timeout
    latches.open("go")
    assert cloud.wait(arn).output["disposition"] == "EXECUTED"


def test_duplicates_that_meet_a_stale_lease_take_nothing_over(cloud: LocalCloud) -> None:
    """The sweep does, within a minute."""
    ends_in(cloud, charge(), BUSINESS)
    cloud.clock.advance(3600)
    cloud.clock.enter()
    arns = [cloud.start(charge(), lane="fast") for _ in range(5)]
    cloud.clock.leave()
    assert {cloud.wait(arn).output["disposition"] for arn in arns} == {"IN_PROGRESS"}
    assert (record_of(cloud, charge())["fence"], operations(cloud)) == (1, [])


def test_an_operation_of_the_full_lane_is_handed_over(cloud: LocalCloud) -> None:
    with cloud.deployed_with({"FullLaneOperations": "charge-payment"}):
        ended = run(cloud, charge(), "fast")
        again = run(cloud, charge(), "fast")
    assert (ended.output["disposition"], ended.output["attempt"], again.output["disposition"]) == (
        "IN_PROGRESS",
        0,
        "REPLAYED",
    )
    [heir] = operations(cloud)
    assert record_of(cloud, charge())["owner"] == heir.arn


# ---- an execution that AWS runs twice ----


@pytest.mark.parametrize("later", [0, 5000], ids=["at once", "late"])
def test_two_runs_of_one_execution_are_an_owner_and_a_duplicate(cloud: LocalCloud, later: int) -> None:
    with cloud.repeating(runs_twice(machine="FastStateMachine", later=later)):
        cloud.wait(cloud.start(charge(), lane="fast"))
        cloud.clock.advance(later)
        settle(cloud)
    assert rows(cloud, "ProviderLedgerTable") == 1
    assert (record_of(cloud, charge())["fence"], len(cloud.invocations("charge-payment"))) == (1, 1)


def test_a_second_run_meets_the_first_ones_lock_as_anothers(cloud: LocalCloud, latches: Latches) -> None:
    request = scripted({"await": "go", "then": {"return": 1}}, {"return": 2})
    with cloud.repeating(runs_twice(machine="FastStateMachine", later=20)):
        cloud.start(request, lane="fast")
        latches.wait_for_starts(1)
        cloud.clock.advance(25)
        latches.open("go")
        settle(cloud)
    assert (record_of(cloud, request)["fence"], latches.starts()) == (1, 1)


def test_two_runs_that_hand_over_start_one(cloud: LocalCloud) -> None:
    with (
        cloud.deployed_with({"FullLaneOperations": "charge-payment"}),
        cloud.repeating(runs_twice(machine="FastStateMachine")),
    ):
        run(cloud, charge(), "fast")
        settle(cloud)
    assert len(operations(cloud)) == 1


def test_who_has_seen_the_lock_hands_nothing_over_when_the_table_is_away(cloud: LocalCloud, latches: Latches) -> None:
    """It was released meanwhile: the full lane, which has not seen it, would start business logic again."""
    request = scripted({"return": 1})
    died(cloud, request, "full")
    with cloud.intercept(
        before(lambda: released(cloud, request), state="ReadRecord", nth=2),
        never_arrives(state="ReadRecord", nth=range(2, 7)),
    ):
        assert run(cloud, request | {"onConflict": "wait"}, "fast").error == "LockLost"
    assert (latches.starts(), [each.name for each in operations(cloud) if each.name.startswith("first-")]) == (0, [])
