"""Any call may be lost on its way there or on its way back: the outcome is the same, and the effect happens once."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from latches import Latches
from late_calls import Late
from scenario import A_LEASE, died, record_of, released, scripted

from oncekit.local import Execution, LocalCloud


@pytest.mark.parametrize("state", ["ReadRecord", "ExecuteBusinessLogic", "Finalize"])
def test_a_late_acquire_lock_takes_nothing_from_its_own_execution(
    cloud: LocalCloud, latches: Latches, state: str
) -> None:
    """It timed out and was repeated; then the first one reaches the table."""
    request = scripted({"return": "done"})
    with cloud.intercept(Late({"state": state}, state="AcquireLock")):
        execution = cloud.run(request)
    assert execution.output["disposition"] == "EXECUTED"
    record = record_of(cloud, request)
    assert (record["fence"], record["attempts"], record["status"], latches.starts()) == (1, 1, "COMPLETED", 1)


@pytest.mark.parametrize("whose", ["mine", "a dead owner's"])
@pytest.mark.parametrize("until", ["ExecuteBusinessLogic", "Finalize"])
def test_call_that_takes_the_next_fence_and_comes_late_changes_nothing(
    cloud: LocalCloud, latches: Latches, whose: str, until: str
) -> None:
    request = scripted({"raise": "ConnectionError"}, {"return": "done"}, {"return": "done"})
    starts = 2
    if whose != "mine":
        died(cloud, request, "full")
        starts = 1
    nth = 2 if whose == "mine" and until != "Finalize" else 1
    with cloud.intercept(Late({"state": until, "nth": nth}, state="TakeNextFence")):
        execution = cloud.run(request)
    assert execution.output["disposition"] == "EXECUTED"
    record = record_of(cloud, request)
    assert (record["fence"], record["attempts"], record["status"], latches.starts()) == (2, 2, "COMPLETED", starts)


def test_a_first_acquire_lock_that_comes_after_a_release_is_run_by_the_sweep(
    cloud: LocalCloud, latches: Latches, recover: Callable[[], Execution]
) -> None:
    """Accepted: the lock that it takes has a request, so nothing is stuck."""
    request = scripted({"raise": "NeedsAttention"}, {"return": 2})
    late = Late({"state": "nowhere"}, state="AcquireLock")
    with cloud.intercept(late):
        assert cloud.run(request).error == "NeedsAttention"
    released(cloud, request)
    late.arrive()
    assert record_of(cloud, request)["status"] == "IN_PROGRESS"
    cloud.clock.advance(A_LEASE)
    recover()
    assert record_of(cloud, request)["status"] == "COMPLETED"
