"""Any call may be lost on its way there or on its way back: the outcome is the same, and the effect happens once."""

from __future__ import annotations

from typing import Any

import pytest
from gates import Gates
from scenario import cause, record_of, result, scripted

from local import LocalCloud
from local.faults import answer_lost, answers, never_arrives

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
    cloud: LocalCloud, gates: Gates, fault: Any, state: str, script: list[dict[str, Any]], starts: int
) -> None:
    request = scripted(*script)
    with cloud.intercept(fault(state=state, nth=range(1, 4))):
        execution = cloud.run(request)
    assert execution.output["disposition"] == "EXECUTED"
    assert result(cloud, execution) == script[-1]["return"]
    assert gates.starts() == execution.output["attempt"] == record_of(cloud, request)["attempts"] == starts
    assert cloud.run(request).output["disposition"] == "REPLAYED"
    assert gates.starts() == starts


FAILING = [
    ("RecordFailure", {"raise": "PermanentError"}, "OperationFailed", "FAILED"),
    ("KeepRequest", {"raise": "NeedsAttention"}, "NeedsAttention", "QUARANTINED"),
    ("RecordQuarantine", {"raise": "NeedsAttention"}, "NeedsAttention", "QUARANTINED"),
]


@pytest.mark.parametrize("fault", [answer_lost, never_arrives], ids=["answer lost", "never arrives"])
@pytest.mark.parametrize(("state", "step", "error", "status"), FAILING, ids=[case[0] for case in FAILING])
def test_call_that_records_a_failure_may_be_lost(
    cloud: LocalCloud, gates: Gates, fault: Any, state: str, step: dict[str, Any], error: str, status: str
) -> None:
    request = scripted(step)
    with cloud.intercept(fault(state=state)):
        execution = cloud.run(request)
    assert execution.error == error
    assert cause(execution)["name"] == step["raise"]
    assert record_of(cloud, request)["status"] == status
    assert gates.starts() == 1


@pytest.mark.parametrize("fault", [answer_lost, never_arrives], ids=["answer lost", "never arrives"])
def test_call_that_takes_over_may_be_lost(cloud: LocalCloud, gates: Gates, fault: Any) -> None:
    request = scripted({"await": "go", "then": {"return": 1}}, {"return": 2})
    owner = cloud.start(request)
    gates.wait_for_starts(1)
    cloud.stop(owner)
    cloud.clock.advance(3600)
    with cloud.intercept(fault(state="TakeOverLock")):
        heir = cloud.run(request)
    assert (result(cloud, heir), heir.output["attempt"]) == (2, 2)
    assert record_of(cloud, request)["fence"] == 2
    assert gates.starts() == 2


@pytest.mark.parametrize("state", ["ReadRecord", "AcquireLock"])
@pytest.mark.parametrize("fault", [answer_lost, never_arrives], ids=["answer lost", "never arrives"])
def test_call_of_a_duplicate_may_be_lost(cloud: LocalCloud, gates: Gates, fault: Any, state: str) -> None:
    request = scripted(*DONE)
    cloud.run(request)
    with cloud.intercept(fault(state=state)):
        duplicate = cloud.run(request)
    assert duplicate.output["disposition"] == "REPLAYED"
    assert gates.starts() == 1


def test_refusal_that_is_sent_twice_is_kept_at_least_once(cloud: LocalCloud) -> None:
    with cloud.intercept(answer_lost(state="RefuseRequest")):
        assert cloud.run({}).error == "InvalidRequest"
    assert {entry["error"] for entry in cloud.rejected()} == {"InvalidRequest"}


def test_lost_answer_of_business_logic_leaves_the_policy_to_decide(cloud: LocalCloud, gates: Gates) -> None:
    careful, bold = scripted(*DONE, onCrash="quarantine"), scripted(*DONE)
    with cloud.intercept(answer_lost(state="ExecuteBusinessLogic")):
        assert cloud.run(careful).error == "NeedsAttention"
    assert gates.starts() == 1
    with cloud.intercept(answer_lost(state="ExecuteBusinessLogic")):
        assert cloud.run(bold).output["attempt"] == 2


def test_redrive_whose_answer_is_lost_still_lets_the_owner_finish(cloud: LocalCloud, gates: Gates) -> None:
    request = scripted({"return": "done"}, {"return": "twice"})
    with cloud.intercept(never_arrives(state="Finalize", nth=0)):
        cloud.run(request)
    with cloud.intercept(answer_lost(state="RedriveOwner"), answers({"status": "FAILED"}, state="CheckOwner", nth=1)):
        duplicate = cloud.run(request | {"onConflict": "wait"})
    assert result(cloud, duplicate) == "done"
    assert gates.starts() == 1
