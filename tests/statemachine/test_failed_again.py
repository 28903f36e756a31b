"""`onFailed: retry`: a sender has a FAILED operation tried again under its own key."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError
from latches import Latches
from scenario import LANES, cause, id_of, operations, record_of, result, run, scripted

from oncekit.contract.lanes import Lane
from oncekit.local import LocalCloud
from oncekit.local.engine.interceptors import answer_lost, before, never_arrives
from oncekit.local.engine.service_calls import Call

FAILS, WORKS = {"raise": "PermanentError", "message": "no money"}, {"return": "paid"}
AGAIN = {"onFailed": "retry"}
SHIPS = Path(__file__).parents[1] / "functions" / "ships"


def failed(cloud: LocalCloud, latches: Latches, *script: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A request that failed a while ago; its next attempts do as scripted. Attempts begin anew: a latch tells."""
    request = scripted({"unless": "paid up", "then": FAILS, "else": script[0] if script else WORKS}, **more)
    assert cloud.run(request).error == "OperationFailed"
    latches.open("paid up")
    cloud.clock.advance(1)
    return request


@LANES
@pytest.mark.parametrize("more", [{}, {"text": "x" * 5000}], ids=["small", "large"])
def test_failed_operation_is_tried_again_under_the_next_fence(
    cloud: LocalCloud, latches: Latches, lane: Lane, more: dict[str, Any]
) -> None:
    request = scripted({"unless": "paid up", "then": FAILS, "else": {"await": "go", "then": WORKS}})
    request["payload"] |= more
    assert cloud.run(request).error == "OperationFailed"
    latches.open("paid up")
    cloud.clock.advance(1)
    arn = cloud.start(request | AGAIN | {"onCrash": "quarantine"}, lane=lane)
    latches.wait_for_starts(2)
    record = record_of(cloud, request)
    assert not {"error", "finishedAt", "expiresAt"} & set(record)
    assert (record["status"], record["onCrash"], record["attempts"]) == ("IN_PROGRESS", "quarantine", 1)
    assert record["leaseExpiresAt"] > cloud.clock.now()
    assert ("request" in record, "requestRef" in record) == (not more, bool(more))
    latches.open("go")
    again = cloud.wait(arn)
    assert (result(cloud, again), again.output["disposition"], again.output["attempt"]) == ("paid", "EXECUTED", 1)
    record = record_of(cloud, request)
    assert (record["status"], record["fence"], record["attempts"]) == ("COMPLETED", 2, 1)
    assert run(cloud, request | AGAIN, lane).output["disposition"] == "REPLAYED"
    assert latches.starts() == 2


@LANES
def test_operation_that_fails_again_says_why_it_failed_last(cloud: LocalCloud, latches: Latches, lane: Lane) -> None:
    request = failed(cloud, latches, FAILS | {"message": "still no money"})
    again = run(cloud, request | AGAIN, lane)
    assert (again.error, cause(again)["message"]) == ("OperationFailed", "still no money")
    record = record_of(cloud, request)
    assert (record["status"], record["fence"], record["error"]["message"]) == ("FAILED", 2, "still no money")


def test_step_that_was_finished_before_the_failure_is_not_done_a_second_time(
    cloud: LocalCloud, latches: Latches
) -> None:
    environment = {"LATCHES": str(latches.folder), "STOCK": cloud.outputs["StockTableName"]}
    cloud.add_function("ships", SHIPS, timeout=30, environment=environment)
    request = {"operation": "ships", "idempotencyKey": "order-1", "payload": {"sku": "pen"}}
    assert cause(cloud.run(request))["message"] == "no money"
    latches.open("paid up")
    cloud.clock.advance(1)
    again = cloud.run(request | AGAIN)
    assert result(cloud, again) == "shipped in attempt 1 under fence 1"
    stock = cloud.client("dynamodb").scan(TableName=cloud.outputs["StockTableName"])["Items"]
    assert [each["sold"] for each in stock] == [{"N": "1"}]


@LANES
def test_execution_that_failed_does_not_try_itself_again(cloud: LocalCloud, latches: Latches, lane: Lane) -> None:
    request = scripted(FAILS, WORKS) | AGAIN
    with cloud.intercept(answer_lost(state="RecordFailure")):
        assert run(cloud, request, lane).error == "OperationFailed"
    assert (record_of(cloud, request)["fence"], latches.starts()) == (1, 1)


# ---- many at once ----


@LANES
def test_who_waits_for_a_failure_gets_it_and_tries_nothing_again(
    cloud: LocalCloud, latches: Latches, lane: Lane
) -> None:
    """All ten came while it was at work: its failure is their answer."""
    request = scripted({"await": "go", "then": FAILS}, WORKS, onConflict="wait") | AGAIN
    arns = [cloud.start(request, lane=lane)]
    latches.wait_for_starts(1)
    arns += [cloud.start(request, lane=lane) for _ in range(10)]
    latches.open("go")
    assert {cloud.wait(arn).error for arn in arns} == {"OperationFailed"}
    assert (latches.starts(), record_of(cloud, request)["fence"]) == (1, 1)


@LANES
def test_ten_copies_that_meet_one_failure_make_one_more_run(cloud: LocalCloud, latches: Latches, lane: Lane) -> None:
    request = failed(cloud, latches, FAILS | {"message": "still no money"}, onConflict="wait") | AGAIN
    with cloud.clock.held():
        arns = [cloud.start(request, lane=lane) for _ in range(10)]
    assert {cloud.wait(arn).error for arn in arns} == {"OperationFailed"}
    assert (latches.starts(), record_of(cloud, request)["fence"]) == (2, 2)


@LANES
def test_another_try_takes_the_failure_that_it_read_and_no_later_one(
    cloud: LocalCloud, latches: Latches, lane: Lane
) -> None:
    request = failed(cloud, latches, FAILS)
    other = request | AGAIN

    def meanwhile() -> None:
        cloud.clock.advance(1)
        cloud.run(other)

    with cloud.intercept(before(meanwhile, state="AcquireLock", nth=1 if lane == "fast" else 2)):
        assert run(cloud, other, lane).error == "OperationFailed"
    assert (record_of(cloud, request)["fence"], latches.starts()) == (2, 2)


@pytest.mark.parametrize(("came", "starts"), [("before", 1), ("after", 2)])
def test_what_the_fast_lane_hands_over_came_when_it_came_there(
    cloud: LocalCloud, latches: Latches, came: str, starts: int
) -> None:
    """Its execution in the full lane starts later; a failure between the two is its answer."""
    request = scripted({"unless": "paid up", "then": FAILS, "else": WORKS})
    if came == "after":
        assert cloud.run(request).error == "OperationFailed"
        cloud.clock.advance(1)

    def fail() -> None:
        cloud.clock.advance(1)
        if came == "before":
            cloud.run(request)
            cloud.clock.advance(1)
        latches.open("paid up")

    gone = never_arrives(state="ReadRecord", nth=range(1, 6))
    with cloud.intercept(gone, before(fail, state="HandOver")):
        run(cloud, request | AGAIN, "fast")
    heir = next(each for each in operations(cloud) if each.name.startswith("first-"))
    assert (heir.error, latches.starts()) == ("OperationFailed" if came == "before" else None, starts)


@pytest.mark.usefixtures("deceived")
def test_another_try_takes_no_failure_of_another_payload_under_the_same_fence(
    cloud: LocalCloud, latches: Latches
) -> None:
    """Fences begin again once a record has expired and TTL has deleted it; a call may come that late."""
    request = failed(cloud, latches)
    calls: list[Callable[[], dict[str, Any]]] = []

    def strike(call: Call, proceed: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """The second call is under way for long, and the execution is stopped."""
        if call.state != "AcquireLock" or calls.append(proceed) or len(calls) < 2:
            return proceed()
        cloud.client("stepfunctions").stop_execution(executionArn=call.execution_arn)
        raise ConnectionError

    with cloud.intercept(strike):
        assert cloud.run(request | AGAIN).status == "ABORTED"
    cloud.client("dynamodb").delete_item(TableName=cloud.outputs["TableName"], Key={"id": {"S": id_of(request)}})
    other = scripted(FAILS, key=request["idempotencyKey"])
    assert cloud.run(other).error == "OperationFailed"
    with pytest.raises(ClientError, match="ConditionalCheckFailed"):
        calls[1]()
    assert (record_of(cloud, other)["status"], record_of(cloud, other)["fence"]) == ("FAILED", 1)
