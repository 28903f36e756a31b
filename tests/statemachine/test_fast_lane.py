"""The fast lane: what goes well ends there, and what does not goes on in the full lane, exactly once."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from latches import Latches
from scenario import (
    BUSINESS,
    answer,
    charge,
    id_of,
    operations,
    record_of,
    result,
    rows,
    scripted,
)

from oncekit.local import Execution, LocalCloud
from oncekit.local.faults import never_arrives, runs_twice

ROOT = Path(__file__).parents[2]
A_RUN = 400
"""Seconds after which an execution of the fast lane is over, and its lease, too."""


def start(cloud: LocalCloud, request: Any) -> str:
    return cloud.start(request, lane="fast")


def fast(cloud: LocalCloud, request: Any) -> Execution:
    """One execution of the fast lane, at its end, and at the end of what it handed over."""
    ended = cloud.wait(start(cloud, request))
    for each in operations(cloud):
        cloud.wait(each.arn)
    return ended


def settle(cloud: LocalCloud) -> None:
    """Every run of the fast lane is over: two of one execution have one ARN."""
    for machine in cloud.executions.machines:
        for execution in list(machine.executions):
            execution.exec_worker.env.run.join(5)


def ends_in(cloud: LocalCloud, request: Any, state: str) -> Execution:
    """An owner in the fast lane that ends in a state, before its call arrives."""

    def strike(call: Any, proceed: Callable[[], Any]) -> Any:
        if call.state != state or ":express:" not in call.execution_arn:
            return proceed()
        cloud.executions.find(call.execution_arn).stop(
            None, "Died", "the local cloud ends it: AWS has no call for this"
        )
        raise ConnectionError

    with cloud.intercept(strike):
        ended = cloud.wait(start(cloud, request))
    assert ended.status == "ABORTED"
    return ended


def fails_until_the_end(cloud: LocalCloud, request: Any, state: str) -> Execution:
    """An owner in the fast lane that dies in a state: AWS ends it after its 300 seconds."""
    with cloud.intercept(never_arrives(state=state, nth=0)):
        ended = cloud.wait(start(cloud, request))
    assert ended.status == "TIMED_OUT"
    return ended


def test_a_new_request_is_executed_and_its_duplicate_answered_without_the_full_lane(cloud: LocalCloud) -> None:
    first, again = fast(cloud, charge()), fast(cloud, charge())
    assert (first.output["disposition"], again.output["disposition"]) == ("EXECUTED", "REPLAYED")
    assert answer(cloud, first) == answer(cloud, again)
    assert rows(cloud, "ProviderLedgerTable") == 1
    assert not operations(cloud)
    record = record_of(cloud, charge())
    assert record["owner"].startswith(f"{first.arn}:")
    assert not {"request", "requestRef", "leaseExpiresAt", "openShard"} & set(record)


@pytest.mark.parametrize("lanes", ["fast-full", "full-fast"])
def test_a_duplicate_by_the_other_lane_is_a_duplicate_all_the_same(cloud: LocalCloud, lanes: str) -> None:
    run = {"fast": fast, "full": LocalCloud.run}
    first, again = (run[lane](cloud, charge()) for lane in lanes.split("-"))
    assert (first.output["disposition"], again.output["disposition"]) == ("EXECUTED", "REPLAYED")
    assert answer(cloud, first) == answer(cloud, again)


def test_the_request_is_in_the_record_while_the_fast_lane_works_on_it(cloud: LocalCloud, latches: Latches) -> None:
    request = scripted({"await": "go", "then": {"return": 1}})
    arn = start(cloud, request)
    latches.wait_for_starts(1)
    record = record_of(cloud, request)
    assert json.loads(record["request"]) == request
    begun = cloud.clock.now()
    assert begun + 295 <= record["leaseExpiresAt"] <= begun + 400
    latches.open("go")
    assert cloud.wait(arn).output["disposition"] == "EXECUTED"


@pytest.mark.parametrize(
    "payload", [{"script": [{"return": 1}], "n": 0.30000000000000004}, {"script": [{"return": 1}], "text": "x" * 5000}]
)
def test_a_request_that_is_large_or_not_exact_as_text_is_kept_in_the_bucket(
    cloud: LocalCloud, latches: Latches, payload: dict[str, Any], recover: Callable[..., Execution]
) -> None:
    request = {"operation": "scripted", "idempotencyKey": str(uuid.uuid4()), "payload": payload}
    fails_until_the_end(cloud, request, "Finalize")
    ref = record_of(cloud, request)["requestRef"]
    assert ref["key"].startswith("inflight/default/")
    body = cloud.client("s3").get_object(Bucket=ref["bucket"], Key=ref["key"])["Body"].read()
    assert json.loads(body) == request
    cloud.clock.advance(A_RUN)
    assert recover().output["recovered"] == 1
    [heir] = operations(cloud)
    assert heir.input == request
    assert record_of(cloud, request)["status"] == "COMPLETED"
    assert "requestRef" not in record_of(cloud, request)


def test_an_owner_that_died_is_recovered_from_its_record_in_the_full_lane(
    cloud: LocalCloud, recover: Callable[..., Execution]
) -> None:
    ends_in(cloud, charge(), BUSINESS)
    assert recover().output["recovered"] == 0
    cloud.clock.advance(A_RUN)
    assert recover().output["recovered"] == 1
    record = record_of(cloud, charge())
    assert (record["status"], record["fence"], record["attempts"], record["recoveries"]) == ("COMPLETED", 2, 2, 1)
    [heir] = operations(cloud)
    assert heir.name.startswith("recover-")
    assert heir.input == charge()
    assert rows(cloud, "ProviderLedgerTable") == 1


def test_a_careful_request_whose_owner_died_waits_for_an_operator(
    cloud: LocalCloud, recover: Callable[..., Execution]
) -> None:
    request = charge(onCrash="quarantine")
    fails_until_the_end(cloud, request, "Finalize")
    cloud.clock.advance(A_RUN)
    recover()
    record = record_of(cloud, request)
    assert (record["status"], record["error"]["name"]) == ("QUARANTINED", "OwnerCrashed")
    assert record["requestRef"]["key"].startswith("requests/")
    assert rows(cloud, "ProviderLedgerTable") == 1


@pytest.mark.parametrize("count", [1, 30])
def test_duplicates_that_meet_a_stale_lease_start_one_execution_of_the_full_lane(cloud: LocalCloud, count: int) -> None:
    ends_in(cloud, charge(), BUSINESS)
    cloud.clock.advance(A_RUN)
    cloud.clock.enter()
    arns = [start(cloud, charge()) for _ in range(count)]
    cloud.clock.leave()
    ends = [cloud.wait(arn) for arn in arns]
    assert {end.output["disposition"] for end in ends} <= {"IN_PROGRESS", "REPLAYED"}
    [heir] = operations(cloud)
    assert heir.name.startswith("handover-")
    assert cloud.wait(heir.arn).output["disposition"] == "EXECUTED"
    assert record_of(cloud, charge())["fence"] == 2
    assert rows(cloud, "ProviderLedgerTable") == 1


def takes_long(cloud: LocalCloud) -> Callable[[Any, Callable[[], Any]], Any]:
    """Business logic that the fast lane has time for twice at most."""

    def late(call: Any, proceed: Callable[[], Any]) -> Any:
        if call.state == BUSINESS and ":express:" in call.execution_arn:
            cloud.clock.advance(130)
        return proceed()

    return late


def test_attempts_that_the_lane_has_no_time_for_go_on_in_the_full_lane(cloud: LocalCloud, latches: Latches) -> None:
    request = scripted({"raise": "Weather"}, {"raise": "Weather"}, {"raise": "Weather"}, {"return": 4}, onCrash="retry")

    with cloud.intercept(takes_long(cloud)):
        end = fast(cloud, request)
    assert end.output == {
        "disposition": "IN_PROGRESS",
        "id": id_of(request),
        "operation": "scripted",
        "tenant": "default",
        "idempotencyKey": request["idempotencyKey"],
        "attempt": 2,
    }
    [heir] = operations(cloud)
    assert heir.name.startswith("handover-")
    record = record_of(cloud, request)
    assert (record["status"], record["attempts"], result(cloud, heir)) == ("COMPLETED", 4, 4)
    assert "mayStartAgain" not in record


def test_two_runs_of_one_execution_are_an_owner_and_a_duplicate(cloud: LocalCloud) -> None:
    with cloud.repeating(runs_twice(machine="FastStateMachine")):
        cloud.wait(start(cloud, charge()))
        settle(cloud)
    assert rows(cloud, "ProviderLedgerTable") == 1
    assert record_of(cloud, charge())["fence"] == 1


def test_a_late_second_run_gets_the_answer(cloud: LocalCloud) -> None:
    with cloud.repeating(runs_twice(machine="FastStateMachine", later=5000)):
        arn = start(cloud, charge())
        cloud.wait(arn)
        cloud.clock.advance(6000)
    record = record_of(cloud, charge())
    assert (record["fence"], record["attempts"]) == (1, 1)


def test_a_late_second_run_does_not_try_again_what_the_full_lane_failed(cloud: LocalCloud, latches: Latches) -> None:
    """Only another request that says `onFailed: retry` does."""
    request = scripted({"raise": "Weather"}, {"raise": "Weather"}, {"raise": "PermanentError"}, onFailed="retry")
    with cloud.repeating(runs_twice(machine="FastStateMachine", later=5000)), cloud.intercept(takes_long(cloud)):
        assert fast(cloud, request).output["disposition"] == "IN_PROGRESS"
        [heir] = operations(cloud)
        assert (heir.name.startswith("handover-"), heir.error) == (True, "OperationFailed")
        cloud.clock.advance(6000)
        settle(cloud)
    assert [each.name for each in operations(cloud)] == [heir.name]
    assert (record_of(cloud, request)["fence"], latches.starts()) == (3, 3)
    fast(cloud, request)
    assert record_of(cloud, request)["fence"] > 3


@pytest.mark.parametrize("conflict", ["acknowledge", "reject", "wait"])
def test_who_meets_a_live_owner_gets_what_onconflict_says(cloud: LocalCloud, latches: Latches, conflict: str) -> None:
    request = scripted({"await": "go", "then": {"return": 7}})
    owner = start(cloud, request)
    latches.wait_for_starts(1)
    other = start(cloud, {**request, "onConflict": conflict})
    if conflict != "wait":
        end = cloud.wait(other)
        assert (end.output["disposition"] if end.output else end.error) == {
            "acknowledge": "IN_PROGRESS",
            "reject": "OperationInProgress",
        }[conflict]
    latches.open("go")
    cloud.wait(owner)
    if conflict == "wait":
        assert cloud.wait(other).output["disposition"] == "REPLAYED"
    assert not operations(cloud)


@pytest.mark.parametrize(
    "text",
    [
        '{"operation":"scripted","idempotencyKey":"k","payload":{"n":1e400}}',
        '{"operation":"scripted","idempotencyKey":"k","payload":{"a":{"_jsonata_lambda":true}}}',
        '{"_jsonata_lambda":true,"operation":"scripted","idempotencyKey":"k","payload":{}}',
    ],
)
def test_what_no_expression_can_read_is_kept_under_the_name_of_an_execution(
    cloud: LocalCloud, text: str, recover: Callable[..., Execution]
) -> None:
    end = fast(cloud, text)
    assert (end.status, end.error) == ("FAILED", "InvalidRequest")
    for _ in range(2):
        for each in operations(cloud):
            recover(each)
    [kept] = cloud.rejected()
    heirs = [each.arn for each in operations(cloud)]
    assert kept["executionArn"] in (heirs or [end.arn])
    names = {name: kept.get(name) for name in ("operation", "idempotencyKey")}
    assert names == (
        dict.fromkeys(names) if text.startswith('{"_') else {"operation": "scripted", "idempotencyKey": "k"}
    )
    assert cloud.record("default#scripted#k") is None


@pytest.mark.parametrize("state", ["ReadRecord", "AcquireLock", "KeepInFlight"])
def test_a_request_that_the_fast_lane_cannot_take_up_is_taken_up_by_the_full_lane(
    cloud: LocalCloud, state: str
) -> None:
    request = (
        {**charge(), "payload": {**charge()["payload"], "text": "x" * 5000}} if state == "KeepInFlight" else charge()
    )
    with cloud.intercept(never_arrives(state=state, nth=range(1, 6))):
        end = fast(cloud, request)
    assert (end.output["disposition"], end.output["attempt"]) == ("IN_PROGRESS", 0)
    [heir] = operations(cloud)
    assert heir.name.startswith("first-")
    assert record_of(cloud, request)["status"] in ("COMPLETED", "FAILED")
