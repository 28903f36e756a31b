"""Any call may be lost on its way there or on its way back: the outcome is the same, and the effect happens once."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from latches import Latches
from scenario import A_LEASE, cause, dead, record_of, result, scripted

from oncekit.local import Execution, LocalCloud
from oncekit.local.faults import answer_lost, arrives_late, before_call, never_arrives


@pytest.mark.parametrize("state", ["ReadRecord", "ExecuteBusinessLogic", "Finalize"])
def test_a_late_acquire_lock_takes_nothing_from_its_own_execution(
    cloud: LocalCloud, latches: Latches, state: str
) -> None:
    """It timed out and was repeated; then the first one reaches the table."""
    request = scripted({"return": "done"})
    with cloud.intercept(arrives_late(before_call(state=state), state="AcquireLock")):
        execution = cloud.run(request)
    assert execution.output["disposition"] == "EXECUTED"
    record = record_of(cloud, request)
    assert (record["fence"], record["attempts"], record["status"], latches.starts()) == (1, 1, "COMPLETED", 1)


@pytest.mark.parametrize("state", ["TakeOverLock", "RenewLock"])
@pytest.mark.parametrize("until", ["ExecuteBusinessLogic", "Finalize"])
def test_call_that_takes_the_next_fence_and_comes_late_changes_nothing(
    cloud: LocalCloud, latches: Latches, state: str, until: str
) -> None:
    request = scripted({"raise": "ConnectionError"}, {"return": "done"}, {"return": "done"})
    if state == "TakeOverLock":
        dead(cloud, request, "RenewLock")
        cloud.clock.advance(A_LEASE)
    with cloud.intercept(
        arrives_late(
            before_call(state=until, nth=2 if state == "RenewLock" and until != "Finalize" else 1), state=state
        )
    ):
        execution = cloud.run(request)
    assert execution.output["disposition"] == "EXECUTED"
    record = record_of(cloud, request)
    assert (record["fence"], record["attempts"], record["status"], latches.starts()) == (2, 2, "COMPLETED", 2)


def test_request_that_is_told_unavailable_is_not_told_that_nothing_was_done(
    cloud: LocalCloud, latches: Latches, recover: Callable[..., Execution]
) -> None:
    request = scripted({"return": "done"})
    with cloud.intercept(answer_lost(state="AcquireLock", nth=0), never_arrives(state="ReadRecord", nth=0)):
        refused = cloud.run(request)
    assert refused.error == "Unavailable"
    assert "send the request again with the same key" in cause(refused)["message"]
    assert latches.starts() == 0
    cloud.clock.advance(A_LEASE)
    recover()
    again = cloud.run(request)
    assert (again.output["disposition"], result(cloud, again), latches.starts()) == ("REPLAYED", "done", 1)


def test_refusal_that_is_sent_twice_is_kept_at_least_once(cloud: LocalCloud) -> None:
    with cloud.intercept(answer_lost(state="RefuseRequest")):
        assert cloud.run({}).error == "InvalidRequest"
    assert {entry["error"] for entry in cloud.rejected()} == {"InvalidRequest"}
