"""Any call may be lost on its way there or on its way back: the outcome is the same, and the effect happens once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from latches import Latches
from scenario import A_LEASE, cause, dead, record_of, result, scripted

from oncekit.local import Execution, LocalCloud
from oncekit.local.faults import answer_lost, answers, arrives_late, before_call, never_arrives

DONE = [{"return": "done"}]
SECOND_TIME = [{"raise": "ConnectionError"}, {"return": "done"}]
LARGE = [{"return": "x" * 10_000}]

SUCCEEDING = [
    ("AcquireLock", DONE, 1),
    ("Finalize", DONE, 1),
    ("RenewLock", SECOND_TIME, 2),
    ("CacheResponse", LARGE, 1),
]


@pytest.mark.parametrize("fault", [answer_lost, never_arrives], ids=["answer lost", "never arrives"])
@pytest.mark.parametrize(("state", "script", "starts"), SUCCEEDING, ids=[case[0] for case in SUCCEEDING])
def test_call_of_an_owner_may_be_lost(
    cloud: LocalCloud, latches: Latches, fault: Any, state: str, script: list[dict[str, Any]], starts: int
) -> None:
    request = scripted(*script)
    with cloud.intercept(fault(state=state, nth=range(1, 4))):
        execution = cloud.run(request)
    assert execution.output["disposition"] == "EXECUTED"
    assert result(cloud, execution) == script[-1]["return"]
    assert latches.starts() == execution.output["attempt"] == record_of(cloud, request)["attempts"] == starts
    assert cloud.run(request).output["disposition"] == "REPLAYED"
    assert latches.starts() == starts


@pytest.mark.parametrize("state", ["ReadRecord", "ExecuteBusinessLogic", "Finalize"])
def test_call_that_acquires_the_lock_and_comes_late_takes_nothing_from_its_own_execution(
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


FAILING = [
    ("RecordFailure", {"raise": "PermanentError"}, "OperationFailed", "FAILED"),
    ("KeepRequest", {"raise": "NeedsAttention"}, "NeedsAttention", "QUARANTINED"),
    ("RecordQuarantine", {"raise": "NeedsAttention"}, "NeedsAttention", "QUARANTINED"),
]


@pytest.mark.parametrize("fault", [answer_lost, never_arrives], ids=["answer lost", "never arrives"])
@pytest.mark.parametrize(("state", "step", "error", "status"), FAILING, ids=[case[0] for case in FAILING])
def test_call_that_records_a_failure_may_be_lost(
    cloud: LocalCloud, latches: Latches, fault: Any, state: str, step: dict[str, Any], error: str, status: str
) -> None:
    request = scripted(step)
    with cloud.intercept(fault(state=state)):
        execution = cloud.run(request)
    assert execution.error == error
    assert cause(execution)["name"] == step["raise"]
    assert record_of(cloud, request)["status"] == status
    assert latches.starts() == 1


@pytest.mark.parametrize("fault", [answer_lost, never_arrives], ids=["answer lost", "never arrives"])
def test_call_that_takes_over_may_be_lost(cloud: LocalCloud, latches: Latches, fault: Any) -> None:
    request = scripted({"await": "go", "then": {"return": 1}}, {"return": 2})
    owner = cloud.start(request)
    latches.wait_for_starts(1)
    cloud.stop(owner)
    cloud.clock.advance(3600)
    with cloud.intercept(fault(state="TakeOverLock")):
        heir = cloud.run(request)
    assert (result(cloud, heir), heir.output["attempt"]) == (2, 2)
    assert record_of(cloud, request)["fence"] == 2
    assert latches.starts() == 2


@pytest.mark.parametrize("state", ["ReadRecord", "AcquireLock"])
@pytest.mark.parametrize("fault", [answer_lost, never_arrives], ids=["answer lost", "never arrives"])
def test_call_of_a_duplicate_may_be_lost(cloud: LocalCloud, latches: Latches, fault: Any, state: str) -> None:
    request = scripted(*DONE)
    cloud.run(request)
    with cloud.intercept(fault(state=state)):
        duplicate = cloud.run(request)
    assert duplicate.output["disposition"] == "REPLAYED"
    assert latches.starts() == 1


def test_refusal_that_is_sent_twice_is_kept_at_least_once(cloud: LocalCloud) -> None:
    with cloud.intercept(answer_lost(state="RefuseRequest")):
        assert cloud.run({}).error == "InvalidRequest"
    assert {entry["error"] for entry in cloud.rejected()} == {"InvalidRequest"}


def test_lost_answer_of_business_logic_leaves_the_policy_to_decide(cloud: LocalCloud, latches: Latches) -> None:
    careful, bold = scripted(*DONE, onCrash="quarantine"), scripted(*DONE)
    with cloud.intercept(answer_lost(state="ExecuteBusinessLogic")):
        assert cloud.run(careful).error == "NeedsAttention"
    assert latches.starts() == 1
    with cloud.intercept(answer_lost(state="ExecuteBusinessLogic")):
        assert cloud.run(bold).output["attempt"] == 2


def test_redrive_whose_answer_is_lost_still_lets_the_owner_finish(cloud: LocalCloud, latches: Latches) -> None:
    request = scripted({"return": "done"}, {"return": "twice"})
    with cloud.intercept(never_arrives(state="Finalize", nth=0)):
        cloud.run(request)
    with cloud.intercept(answer_lost(state="RedriveOwner"), answers({"status": "FAILED"}, state="CheckOwner", nth=1)):
        duplicate = cloud.run(request | {"onConflict": "wait"})
    assert result(cloud, duplicate) == "done"
    assert latches.starts() == 1
