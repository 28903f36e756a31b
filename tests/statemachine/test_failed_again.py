"""`onFailed: retry`: a sender has a FAILED operation tried again under its own key."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from latches import Latches
from scenario import cause, record_of, result, scripted

from oncekit.local import LocalCloud
from oncekit.local.faults import after, answer_lost

FAILS, WORKS = {"raise": "PermanentError", "message": "no money"}, {"return": "paid"}
AGAIN = {"onFailed": "retry"}
SHIPS = Path(__file__).parents[1] / "functions" / "ships"


def failed(cloud: LocalCloud, latches: Latches, *script: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A request that has failed; its next attempts do as scripted. Attempts begin anew, so a latch tells them apart."""
    request = scripted({"unless": "paid up", "then": FAILS, "else": script[0] if script else WORKS}, **more)
    assert cloud.run(request).error == "OperationFailed"
    latches.open("paid up")
    return request


def test_failure_is_replayed_unless_the_sender_asks_for_another_try(cloud: LocalCloud, latches: Latches) -> None:
    request = failed(cloud, latches)
    for same in (request, request | {"onFailed": "replay"}):
        assert cause(cloud.run(same))["message"] == "no money"
    assert latches.starts() == 1


def test_failed_operation_is_tried_again_under_the_next_fence(cloud: LocalCloud, latches: Latches) -> None:
    request = failed(cloud, latches)
    again = cloud.run(request | AGAIN)
    assert (result(cloud, again), again.output["disposition"], again.output["attempt"]) == ("paid", "EXECUTED", 1)
    record = record_of(cloud, request)
    assert (record["status"], record["owner"], record["fence"], record["attempts"]) == ("COMPLETED", again.arn, 2, 1)
    assert cloud.run(request | AGAIN).output["disposition"] == "REPLAYED"
    assert latches.starts() == 2


def test_record_of_another_try_is_that_of_one_that_has_just_begun(cloud: LocalCloud, latches: Latches) -> None:
    request = failed(cloud, latches, {"await": "go", "then": WORKS})
    careful = cloud.start(request | AGAIN | {"onCrash": "quarantine"})
    latches.wait_for_starts(2)
    record = record_of(cloud, request)
    assert not {"error", "finishedAt", "expiresAt", "recoveries"} & set(record)
    assert (record["status"], record["onCrash"], record["attempts"]) == ("IN_PROGRESS", "quarantine", 1)
    assert record["leaseExpiresAt"] > cloud.clock.now()
    latches.open("go")
    assert cloud.wait(careful).status == "SUCCEEDED"


def test_operation_that_fails_again_says_why_it_failed_last(cloud: LocalCloud, latches: Latches) -> None:
    request = failed(cloud, latches, FAILS | {"message": "still no money"})
    again = cloud.run(request | AGAIN)
    assert (again.error, cause(again)["message"]) == ("OperationFailed", "still no money")
    assert again.states.count("RetryFailed") == 1
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
    again = cloud.run(request | AGAIN)
    assert result(cloud, again) == "shipped in attempt 1 under fence 1"
    stock = cloud.client("dynamodb").scan(TableName=cloud.outputs["StockTableName"])["Items"]
    assert [each["sold"] for each in stock] == [{"N": "1"}]


def test_another_payload_is_refused_as_for_any_other_duplicate(cloud: LocalCloud, latches: Latches) -> None:
    request = failed(cloud, latches)
    other = request | AGAIN | {"payload": {"script": [WORKS]}}
    assert cloud.run(other).error == "PayloadMismatch"
    assert latches.starts() == 1


def test_execution_that_failed_does_not_try_itself_again(cloud: LocalCloud, latches: Latches) -> None:
    request = scripted(FAILS, WORKS) | AGAIN
    with cloud.intercept(answer_lost(state="RecordFailure")):
        assert cloud.run(request).error == "OperationFailed"
    assert (record_of(cloud, request)["fence"], latches.starts()) == (1, 1)


def test_expired_failure_is_a_new_operation_for_this_sender_too(cloud: LocalCloud, latches: Latches) -> None:
    request = failed(cloud, latches)
    cloud.clock.advance(31 * 86_400)
    again = cloud.run(request | AGAIN)
    assert "RetryFailed" not in again.states
    assert result(cloud, again) == "paid"


def test_waiting_sender_takes_it_up_when_the_first_has_failed(cloud: LocalCloud, latches: Latches) -> None:
    request = scripted({"unless": "paid up", "then": {"await": "go", "then": FAILS}, "else": WORKS})
    owner = cloud.start(request)
    latches.wait_for_starts(1)

    looked = threading.Event()
    with cloud.clock.held(), cloud.intercept(after(looked.set, state="ReadRecord")):
        waiting = cloud.start(request | AGAIN | {"onConflict": "wait"})
        assert looked.wait(30)
        latches.open("paid up")
        latches.open("go")
        assert cloud.wait(owner).error == "OperationFailed"
    ended = cloud.wait(waiting)
    assert "WaitForOwner" in ended.states
    assert result(cloud, ended) == "paid"
