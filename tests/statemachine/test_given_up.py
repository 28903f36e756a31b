"""Calls that fail for minutes, or whose every try is lost: the work goes on, and nothing is done twice."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError
from latches import Latches
from late_calls import Late
from scenario import (
    A_LEASE,
    BUSINESS,
    LANES,
    by_recovery,
    charge,
    operations,
    outage,
    record_of,
    result,
    rows,
    run,
    scripted,
)

from oncekit.contract.lanes import Lane
from oncekit.local import Execution, LocalCloud
from oncekit.local.engine.interceptors import answer_lost, before, breaks, fails, never_arrives
from oncekit.local.engine.service_calls import Call, Interceptor

Recover = Callable[[], Execution]
LONG = 2.5 * 86_400
"""Seconds, almost as long as an execution of the full lane lives: a key that is disabled on a Friday evening."""
ON_CRASH = pytest.mark.parametrize("on_crash", ["retry", "quarantine"])


def never_answers(state: str) -> Interceptor:
    """Every call of a state is made, and nothing is heard of any: neither of the one that did it, nor of a refusal."""

    def strike(call: Call, proceed: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        if call.state != state:
            return proceed()
        with contextlib.suppress(ClientError):
            proceed()
        raise ConnectionError

    return strike


# ---- before the lock ----


@ON_CRASH
@pytest.mark.parametrize("is_lost", [lambda state: answer_lost(state=state), never_answers], ids=["one", "all"])
@pytest.mark.parametrize("on_conflict", ["acknowledge", "reject"])
def test_a_lock_whose_answer_was_lost_is_worked_under_by_nobody_until_its_lease_is_over(
    cloud: LocalCloud, recover: Recover, on_crash: str, is_lost: Callable[[str], Interceptor], on_conflict: str
) -> None:
    """In the fast lane: AWS may run an Express execution twice, and the other run may be at work."""
    with cloud.intercept(is_lost("AcquireLock")):
        end = run(cloud, charge(onCrash=on_crash, onConflict=on_conflict), "fast")
    assert (end.error, end.output["disposition"]) == (None, "IN_PROGRESS")
    recover()
    assert (rows(cloud, "ProviderLedgerTable"), record_of(cloud, charge())["fence"]) == (0, 1)
    cloud.clock.advance(A_LEASE)  # type: ignore[attr-defined]  # the clock of tests is virtual
    recover()
    record = record_of(cloud, charge())
    if on_crash == "retry":
        assert (record["status"], rows(cloud, "ProviderLedgerTable")) == ("COMPLETED", 1)
    else:
        assert (record["status"], rows(cloud, "ProviderLedgerTable")) == ("QUARANTINED", 0)
        assert "may not have begun" in record["error"]["message"]


@LANES
def test_a_failed_operation_is_tried_again_though_answers_were_lost(
    cloud: LocalCloud, latches: Latches, recover: Recover, lane: Lane
) -> None:
    request = scripted({"raise": "PermanentError"}, onFailed="retry")
    assert run(cloud, request, "fast").error == "OperationFailed"
    cloud.clock.advance(1)
    with cloud.intercept(never_answers("AcquireLock") if lane == "fast" else answer_lost(state="AcquireLock", nth=2)):
        assert run(cloud, request, lane).error == (None if lane == "fast" else "OperationFailed")
    cloud.clock.advance(A_LEASE)  # type: ignore[attr-defined]  # the clock of tests is virtual
    recover()
    record = record_of(cloud, request)
    assert (record["fence"], record["status"], latches.starts()) == (3 if lane == "fast" else 2, "FAILED", 2)


@LANES
@pytest.mark.parametrize("seconds", [100, 250, LONG])
def test_a_request_is_done_however_long_the_table_throttles(cloud: LocalCloud, lane: Lane, seconds: float) -> None:
    with cloud.intercept(outage(cloud, seconds, "ThrottlingException", "ReadRecord", "AcquireLock")):
        end = run(cloud, charge(), lane)
    assert end.output["disposition"] == ("IN_PROGRESS" if lane == "fast" else "EXECUTED")
    assert record_of(cloud, charge())["status"] == "COMPLETED"
    assert cloud.rejected() == []


@LANES
def test_a_large_request_is_done_however_long_the_bucket_is_away(cloud: LocalCloud, plain: str, lane: Lane) -> None:
    request = {"operation": plain, "idempotencyKey": "k", "payload": {"text": "x" * 5000, "return": 1}}
    with cloud.intercept(outage(cloud, LONG, "AccessDenied", "KeepRequest")):
        run(cloud, request, lane)
    assert record_of(cloud, request)["status"] == "COMPLETED"


@LANES
def test_a_refused_request_is_kept_however_long_the_bucket_is_away(cloud: LocalCloud, lane: Lane) -> None:
    with cloud.intercept(outage(cloud, LONG, "AccessDenied", "RefuseRequest")):
        assert run(cloud, {"operation": "charge-payment"}, lane).error == "InvalidRequest"
    assert len(cloud.rejected()) == 1


def test_a_duplicate_is_answered_however_long_the_table_throttles(cloud: LocalCloud) -> None:
    """In the full lane: what the fast lane left to it, saying that it is in progress, is such a duplicate, too."""
    cloud.run(charge())
    with cloud.intercept(outage(cloud, LONG, "ThrottlingException", "ReadRecord")):
        assert run(cloud, charge(), "full").output["disposition"] == "REPLAYED"


@pytest.mark.parametrize(
    ("state", "script", "status"),
    [
        ("Finalize", {"return": 1}, "COMPLETED"),
        ("CacheResponse", {"return": "x" * 9000}, "COMPLETED"),
        ("RecordFailure", {"raise": "PermanentError"}, "FAILED"),
        ("RecordQuarantine", {"raise": "NeedsAttention"}, "QUARANTINED"),
        ("TakeNextFence", {"raise": "Weather"}, "COMPLETED"),
    ],
)
def test_what_came_of_it_is_written_down_however_long_a_service_throttles(
    cloud: LocalCloud, latches: Latches, state: str, script: dict[str, Any], status: str
) -> None:
    """In the full lane business logic does not run again only because this write fails for days."""
    request = scripted(script, {"return": 1})
    with cloud.intercept(outage(cloud, LONG, "ThrottlingException", state)):
        run(cloud, request, "full")
    assert record_of(cloud, request)["status"] == status
    assert latches.starts() == record_of(cloud, request)["attempts"] == (2 if state == "TakeNextFence" else 1)


def test_who_finds_the_record_too_late_for_business_logic_hands_over(cloud: LocalCloud) -> None:
    """Else AWS would end the execution, after 300 seconds, while business logic runs."""

    def late(call: Call, proceed: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        if call.state == "ReadRecord" and ":express:" in call.execution_arn:
            cloud.clock.advance(250)  # type: ignore[attr-defined]  # the clock of tests is virtual
        return proceed()

    with cloud.intercept(late):
        assert run(cloud, charge(), "fast").output["disposition"] == "IN_PROGRESS"
    [heir] = operations(cloud)
    assert (heir.name[:6], heir.output["disposition"]) == ("first-", "EXECUTED")


@pytest.mark.parametrize("state", ["ReadRecord", "AcquireLock", "KeepRequest"])
def test_what_the_fast_lane_cannot_take_up_the_full_lane_does(cloud: LocalCloud, plain: str, state: str) -> None:
    request = {"operation": plain, "idempotencyKey": "k", "payload": {"text": "x" * 5000, "return": 1}}
    with cloud.intercept(never_arrives(state=state, nth=range(1, 12))):  # for minutes, in the full lane, too
        end = run(cloud, request | {"onCrash": "quarantine", "onConflict": "reject"}, "fast")
    assert (end.output["disposition"], end.output["attempt"]) == ("IN_PROGRESS", 0)
    [heir] = operations(cloud)
    assert heir.name.startswith("first-")
    record = record_of(cloud, request)
    assert (record["status"], record["onCrash"], record["attempts"]) == ("COMPLETED", "quarantine", 1)


@pytest.mark.parametrize("fault", [never_arrives, answer_lost])
def test_what_nobody_takes_up_is_refused_and_kept(cloud: LocalCloud, fault: Callable[..., Interceptor]) -> None:
    with cloud.intercept(never_arrives(state="ReadRecord", nth=range(1, 6)), fault(state="HandOver", nth=0)):
        end = run(cloud, charge(), "fast")
    if fault == never_arrives:
        assert end.error == "Unavailable"
        assert [(each["error"], each["input"]) for each in cloud.rejected()] == [("Unavailable", charge())]
    else:  # asked again, the service says that it has it
        assert (end.output["disposition"], len(operations(cloud))) == ("IN_PROGRESS", 1)
        assert record_of(cloud, charge())["status"] == "COMPLETED"


# ---- after the lock ----


@pytest.mark.usefixtures("each_reading")
@LANES
@ON_CRASH
@pytest.mark.parametrize("state", [BUSINESS, "CacheResponse"])
def test_an_owner_that_step_functions_ends_after_business_logic_is_a_crash_at_worst(
    cloud: LocalCloud, latches: Latches, recover: Recover, lane: Lane, on_crash: str, state: str
) -> None:
    """Whether a Catch of States.Runtime catches it is AWS's to say, and nothing depends on it."""
    request = scripted({"return": "x" * 9000}, onCrash=on_crash)
    with cloud.intercept(breaks(state=state)):
        run(cloud, request, lane)
    cloud.clock.advance(A_LEASE)  # type: ignore[attr-defined]  # the clock of tests is virtual
    recover()
    status = record_of(cloud, request)["status"]
    assert (status, latches.starts()) in [("QUARANTINED", 1), *([("COMPLETED", 2)] if on_crash == "retry" else [])]


def test_what_fails_in_the_fast_lane_goes_on_in_the_full_lane(
    cloud: LocalCloud, latches: Latches, recover: Recover
) -> None:
    request = scripted(*[{"raise": "Weather"}] * 3, {"return": 4})
    end = run(cloud, request, "fast")
    assert (end.output["disposition"], end.output["attempt"], end.states.count(BUSINESS)) == ("IN_PROGRESS", 1, 1)
    [heir] = by_recovery(cloud)
    record = record_of(cloud, request)
    assert (record["status"], record["attempts"], result(cloud, heir)) == ("COMPLETED", 4, 4)
    assert "error" not in record
    assert recover().output["recovered"] == 0


def test_who_waits_in_the_fast_lane_gets_the_answer_of_the_full_one(cloud: LocalCloud, latches: Latches) -> None:
    request = scripted({"raise": "Weather"}, {"return": 2}, onConflict="wait")
    end = run(cloud, request, "fast")
    assert (end.output["disposition"], result(cloud, end), latches.starts()) == ("REPLAYED", 2, 2)


@ON_CRASH
def test_what_lambda_refuses_goes_on_in_the_full_lane_and_is_no_attempt(
    cloud: LocalCloud, latches: Latches, on_crash: str
) -> None:
    request = scripted({"return": 7}, onCrash=on_crash)
    with cloud.intercept(fails("TooManyRequestsException", status=429, state=BUSINESS)):
        assert run(cloud, request, "fast").output["disposition"] == "IN_PROGRESS"
    [heir] = by_recovery(cloud)
    assert (record_of(cloud, request)["attempts"], latches.starts(), result(cloud, heir)) == (1, 1, 7)


@ON_CRASH
@pytest.mark.parametrize("fault", [never_arrives, answer_lost], ids=["never arrives", "answers lost"])
def test_a_released_lock_that_cannot_be_handed_over_is_swept(
    cloud: LocalCloud, latches: Latches, recover: Recover, fault: Callable[..., Interceptor], on_crash: str
) -> None:
    """Lambda refused it, so that no attempt has been used, whatever onCrash says."""
    request = scripted({"return": 7}, onCrash=on_crash)
    throttled = fails("TooManyRequestsException", status=429, state=BUSINESS)
    with cloud.intercept(throttled, fault(state="HandOver", nth=0)):
        assert run(cloud, request, "fast").output["disposition"] == "IN_PROGRESS"
    recover()
    [heir] = by_recovery(cloud)
    record = record_of(cloud, request)
    assert (record["status"], record["attempts"], latches.starts(), result(cloud, heir)) == ("COMPLETED", 1, 1, 7)


@pytest.mark.parametrize("until", ["TakeNextFence", BUSINESS, "Finalize"])
def test_a_release_that_comes_late_does_not_take_the_lock_from_the_heir(
    cloud: LocalCloud, latches: Latches, until: str
) -> None:
    request = scripted({"raise": "Weather"}, {"return": 7})
    with cloud.intercept(Late({"state": until}, state="ReleaseLock")):
        assert run(cloud, request, "fast").output["disposition"] == "IN_PROGRESS"
    [heir] = by_recovery(cloud)
    assert (heir.error, result(cloud, heir)) == (None, 7)
    record = record_of(cloud, request)
    assert (record["status"], record["attempts"], latches.starts()) == ("COMPLETED", 2, 2)


def test_a_release_that_never_arrives_leaves_the_lease_to_end(
    cloud: LocalCloud, latches: Latches, recover: Recover
) -> None:
    request = scripted({"raise": "Weather"}, {"return": 2})
    with cloud.intercept(never_arrives(state="ReleaseLock", nth=0)):
        assert run(cloud, request, "fast").output["disposition"] == "IN_PROGRESS"
    assert recover().output["recovered"] == 0
    cloud.clock.advance(A_LEASE)
    recover()
    assert (record_of(cloud, request)["status"], latches.starts()) == ("COMPLETED", 2)


def test_who_gave_its_lock_back_and_did_not_hear_so_gives_its_heirs_answer(
    cloud: LocalCloud, latches: Latches, recover: Recover
) -> None:
    request = scripted({"raise": "Weather"}, {"return": 2})
    unheard, swept = answer_lost(state="ReleaseLock"), before(recover, state="ReleaseLock", nth=2)
    with cloud.intercept(unheard, swept):
        ended = run(cloud, request, "fast")
    assert (ended.output["disposition"], result(cloud, ended), latches.starts()) == ("REPLAYED", 2, 2)


@LANES
@pytest.mark.parametrize(("error", "name"), [("NeedsAttention", "QUARANTINED"), ("PermanentError", "FAILED")])
def test_what_was_decided_is_recorded_though_s3_is_gone_for_minutes(
    cloud: LocalCloud, latches: Latches, recover: Recover, lane: Lane, error: str, name: str
) -> None:
    """Its request was kept with the lock, so nothing is written to the bucket after business logic has decided."""
    request = scripted({"await": "go", "then": {"raise": error}}, {"return": "did it again"})
    request["payload"]["text"] = "x" * 5000
    arn = cloud.start(request, lane=lane)
    latches.wait_for_starts(1)
    with cloud.intercept(never_arrives(action="put_object", nth=0)):
        latches.open("go")
        cloud.wait(arn)
        cloud.clock.advance(A_LEASE)
        recover()
    assert (record_of(cloud, request)["status"], latches.starts()) == (name, 1)
