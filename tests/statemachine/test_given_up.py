"""Calls whose every try is lost: what they did all the same is found in the record, and the work goes on at once."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError
from latches import Latches
from scenario import BUSINESS, charge, operations, outage, record_of, result, rows, scripted

from oncekit.local import Execution, LocalCloud
from oncekit.local.engine.service_calls import Call, Interceptor
from oncekit.local.faults import answer_lost, arrives_late, before_call, fails, never_arrives


def never_answers(state: str) -> Interceptor:
    """Every call of a state is made, and nothing is heard of any: neither of the one that did it, nor of a refusal."""

    def strike(call: Call, proceed: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        if call.state != state:
            return proceed()
        with contextlib.suppress(ClientError):
            proceed()
        raise ConnectionError

    return strike


LANES = pytest.mark.parametrize("lane", ["fast", "full"])


def run(cloud: LocalCloud, request: Any, lane: str) -> Execution:
    """One execution, at its end, and at the end of what it handed over."""
    ended = cloud.wait(cloud.start(request, lane=lane))
    for each in operations(cloud):
        cloud.wait(each.arn)
    return ended


@LANES
@pytest.mark.parametrize("on_crash", ["retry", "quarantine"])
def test_a_lock_that_was_taken_is_worked_under_though_every_answer_was_lost(
    cloud: LocalCloud, lane: str, on_crash: str
) -> None:
    with cloud.intercept(never_answers("AcquireLock")):
        end = run(cloud, charge(onCrash=on_crash), lane)
    assert (end.error, end.output["disposition"]) == (None, "EXECUTED")
    assert record_of(cloud, charge())["fence"] == 1
    assert rows(cloud, "ProviderLedgerTable") == 1
    assert len(operations(cloud)) == (lane == "full")


@LANES
def test_a_failed_operation_is_tried_again_though_every_answer_was_lost(
    cloud: LocalCloud, latches: Latches, lane: str
) -> None:
    request = scripted({"raise": "PermanentError"}, onFailed="retry", onCrash="quarantine")
    assert run(cloud, request, "fast").error == "OperationFailed"
    with cloud.intercept(never_answers("RetryFailed")):
        assert run(cloud, request, lane).error == "OperationFailed"
    record = record_of(cloud, request)
    assert (record["fence"], record["attempts"], record["status"], latches.starts()) == (2, 1, "FAILED", 2)


@pytest.mark.parametrize("hours", [0.1, 3])
def test_a_request_told_in_progress_is_done_however_long_the_table_throttles(cloud: LocalCloud, hours: float) -> None:
    with cloud.intercept(outage(cloud, hours * 3600, "ThrottlingException", "ReadRecord", "AcquireLock")):
        end = run(cloud, charge(), "fast")
    assert end.output["disposition"] == "IN_PROGRESS"
    assert record_of(cloud, charge())["status"] == "COMPLETED"
    assert cloud.rejected() == []


@pytest.mark.parametrize("fault", [answer_lost, never_arrives], ids=["answers lost", "never arrives"])
@pytest.mark.parametrize("on_crash", ["retry", "quarantine"])
def test_a_lock_that_the_fast_lane_cannot_renew_goes_on_in_the_full_lane(
    cloud: LocalCloud, latches: Latches, fault: Any, on_crash: str
) -> None:
    request = scripted({"return": 7}, onCrash=on_crash)
    throttled = _throttled(1)
    with cloud.intercept(throttled, fault(state="RenewLock", nth=range(1, 6))):
        end = run(cloud, request, "fast")
    assert (end.error, end.output["disposition"]) == (None, "IN_PROGRESS")
    [heir] = operations(cloud)
    assert (heir.name.startswith("handover-"), result(cloud, heir)) == (True, 7)
    record = record_of(cloud, request)
    assert (record["status"], record["attempts"], latches.starts()) == ("COMPLETED", 1, 1)


@pytest.mark.parametrize("until", ["TakeOverLock", BUSINESS, "Finalize"])
def test_a_renewal_that_comes_after_the_release_does_not_take_the_lock_back(
    cloud: LocalCloud, latches: Latches, until: str
) -> None:
    request = scripted({"raise": "Weather"}, {"return": 7})
    with cloud.intercept(
        never_arrives(state="RenewLock", nth=range(2, 6)),
        arrives_late(before_call(state=until, nth=1 if until != BUSINESS else 2), state="RenewLock"),
    ):
        run(cloud, request, "fast")
    [heir] = operations(cloud)
    assert (heir.error, result(cloud, heir)) == (None, 7)
    record = record_of(cloud, request)
    assert (record["status"], record["attempts"], latches.starts()) == ("COMPLETED", 2, 2)


def _throttled(times: int) -> Interceptor:
    """Lambda refuses the first calls of business logic."""
    return fails("TooManyRequestsException", status=429, state=BUSINESS, nth=range(1, times + 1))
