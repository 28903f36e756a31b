"""How a request ends after an error of business logic, beyond what tests/scenarios has."""

from __future__ import annotations

import json
from collections.abc import Callable
from io import BytesIO
from typing import Any

import pytest
from latches import Latches
from scenario import BUSINESS, LANES, cause, charge, id_of, outage, record_of, result, run, scripted

from oncekit.bench.cost.counting import size_of
from oncekit.contract.lanes import Lane
from oncekit.local import Execution, LocalCloud
from oncekit.local.engine.interceptors import before
from oncekit.local.engine.service_calls import Call, Interceptor

ATTEMPTS = 10
"""MaxAttempts, by default."""


def test_attempts_used_up_end_in_quarantine_after_about_a_quarter_of_an_hour(
    cloud: LocalCloud, latches: Latches
) -> None:
    request = scripted({"raise": "ConnectionError", "message": "no route"})
    began = cloud.clock.now()
    execution = cloud.run(request)
    assert execution.error == "NeedsAttention"
    assert cause(execution)["message"] == "no route"
    assert latches.starts() == record_of(cloud, request)["attempts"] == ATTEMPTS
    assert 9 < (cloud.clock.now() - began) / 60 < 19


@LANES
@pytest.mark.parametrize("letter", ["x", "é", "日", "😀"])
def test_a_record_with_its_request_and_its_error_stays_within_4_kib(cloud: LocalCloud, lane: Lane, letter: str) -> None:
    """A refused write, which is each duplicate's, costs by the size of the record."""
    error = {"errorType": "E" * 200, "errorMessage": letter * 2000}

    def raises(call: Call, proceed: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        said = BytesIO(json.dumps(error).encode())
        return {"StatusCode": 200, "FunctionError": "E", "Payload": said} if call.state == BUSINESS else proceed()

    request = charge(letter * 64, tenant="t" * 40, onCrash="quarantine") | {"payload": {"more": ""}}
    of_key = 64 * (1 if letter.isascii() else 2 * len(letter.encode("utf-16-le")))
    kept = {name: request[name] for name in ("operation", "tenant", "payload")} | {"idempotencyKey": ""}
    room = 4096 - 1200 - 4 * 64 - of_key - len(json.dumps(kept, separators=(",", ":")))
    request["payload"]["more"] = "y" * room
    with cloud.intercept(raises):
        run(cloud, request, lane)
    key = {"id": {"S": id_of(request)}}
    found = cloud.client("dynamodb").get_item(TableName=cloud.resources["IdempotencyTable"], Key=key)["Item"]
    assert {"request", "error"} <= set(found) and size_of(found) <= 4096


@LANES
@pytest.mark.parametrize("seconds", [45, 400])
def test_an_outage_of_minutes_of_what_business_logic_calls_quarantines_nothing(
    cloud: LocalCloud, latches: Latches, recover: Callable[[], Execution], lane: Lane, seconds: int
) -> None:
    request = scripted({"return": 1})
    with cloud.intercept(outage(cloud, seconds, "ServiceException", BUSINESS, status=503)):
        run(cloud, request, lane)
        recover()
    assert record_of(cloud, request)["status"] == "COMPLETED"


def test_a_lease_lasts_until_the_next_attempt_however_long_the_wait(cloud: LocalCloud, latches: Latches) -> None:
    request = scripted({"raise": "ConnectionError"})
    left: list[float] = []

    def look() -> None:
        left.append(record_of(cloud, request)["leaseExpiresAt"] - cloud.clock.now())

    with cloud.intercept(before(look, state="TakeNextFence", nth=0)):
        cloud.run(request)
    assert len(left) == ATTEMPTS - 1
    assert min(left) > 0


@LANES
def test_a_status_that_a_function_answers_with_is_a_part_of_its_result(
    cloud: LocalCloud, latches: Latches, lane: Lane
) -> None:
    reply = {"statusCode": 500, "body": "down"}
    assert result(cloud, run(cloud, scripted({"return": reply}), lane)) == reply


# ---- a throttled function ----


def throttled(cloud: LocalCloud, hours: float) -> Interceptor:
    """No concurrency for so long: reserved concurrency 0, the usual emergency brake."""
    return outage(cloud, hours * 3600, "TooManyRequestsException", BUSINESS, status=429)


@LANES
def test_a_throttled_call_is_not_a_start_and_waits_whatever_on_crash_says(
    cloud: LocalCloud, latches: Latches, recover: Callable[[], Execution], lane: Lane
) -> None:
    request = scripted({"return": 1}, onCrash="quarantine")
    with cloud.intercept(throttled(cloud, 0.5)):
        run(cloud, request, lane)
        recover()
    record = record_of(cloud, request)
    assert (record["status"], record["attempts"], latches.starts()) == ("COMPLETED", 1, 1)


def test_a_function_that_is_throttled_for_a_day_is_for_the_operator(cloud: LocalCloud, latches: Latches) -> None:
    """Waits grow to a quarter of an hour: AWS ends an execution at 25,000 events, and each transition is paid."""
    request = scripted({"return": 1})
    with cloud.intercept(throttled(cloud, 100)):
        ended = cloud.run(request)
    record = record_of(cloud, request)
    assert (record["status"], record["error"]["name"]) == ("QUARANTINED", "Lambda.TooManyRequestsException")
    assert (record["attempts"], latches.starts(), "request" in record) == (1, 0, True)
    assert 24 <= ended.seconds / 3600 < 24.5
    assert ended.states.count("BackOff") < 200
    assert ended.transitions < 1000


def test_a_lease_outlasts_each_wait_for_a_throttled_function(cloud: LocalCloud, latches: Latches) -> None:
    """Nobody may ask whether an owner lives that only waits."""
    request = scripted({"return": 1})
    left: list[float] = []

    def look() -> None:
        left.append(record_of(cloud, request)["leaseExpiresAt"] - cloud.clock.now())

    with cloud.intercept(throttled(cloud, 3), before(look, state=BUSINESS, nth=0)):
        cloud.run(request)
    assert min(left) > 0


@LANES
@pytest.mark.parametrize("name", ["Lambda.TooManyRequestsException", "Lambda.ResourceNotFoundException"])
@pytest.mark.parametrize(("on_crash", "starts"), [("quarantine", 1), ("retry", ATTEMPTS)])
def test_an_error_named_like_lambdas_starts_a_function_no_oftener(
    cloud: LocalCloud, latches: Latches, name: str, on_crash: str, starts: int, lane: Lane
) -> None:
    lambdas = "Rate Exceeded. (Service: AWSLambda; Status Code: 429; Error Code: TooManyRequestsException)"
    request = scripted({"raise": name, "message": lambdas}, onCrash=on_crash)
    run(cloud, request, lane)
    execution = cloud.run(request)
    assert (execution.error, latches.starts()) == ("NeedsAttention", starts)
    assert cause(execution) == {"id": f"default#scripted#{request['idempotencyKey']}", "name": name, "message": lambdas}
    record = record_of(cloud, request)
    assert (record["attempts"], record["fence"], record["error"]["name"]) == (starts, starts, name)


def test_lost_lock_that_was_not_lost_is_quarantined(cloud: LocalCloud, latches: Latches) -> None:
    request = scripted({"raise": "LockLostError"})
    assert cloud.run(request).error == "NeedsAttention"
    assert record_of(cloud, request)["error"]["name"] == "LockLostError"
    assert latches.starts() == 1
