"""A request for an operation that has no function is refused, kept, and leaves no lock."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from latches import Latches
from scenario import A_LEASE, answer, cause, charge, dead, record_of, result, scripted

from oncekit.local import LocalCloud
from oncekit.local.faults import fails
from oncekit.local.lanes import Lane

ROOT = Path(__file__).parents[2]
FUNCTIONS = ROOT / "tests" / "functions"
LANES: tuple[Lane, ...] = ("full", "fast")
OPEN = {"leaseExpiresAt", "openShard", "request", "requestRef"}


def of_nobody(**more: Any) -> dict[str, Any]:
    return {"operation": "of-nobody", "idempotencyKey": "k", "payload": {"return": 1}, **more}


def has_given_back_its_lock(cloud: LocalCloud, request: dict[str, Any]) -> bool:
    record = record_of(cloud, request)
    expired: bool = record["expiresAt"] < cloud.clock.now()
    return expired and not OPEN & set(record)


@pytest.mark.parametrize("lane", LANES)
def test_a_request_for_a_missing_function_runs_once_it_is_deployed(cloud: LocalCloud, lane: Lane) -> None:
    request = of_nobody()
    refused = cloud.run(request, lane=lane)
    assert (refused.error, refused.states[-3:]) == ("InvalidRequest", ("KeepRefused", "UndoLock", "RequestRefused"))
    message = "operation of-nobody has no function: deploy one called once_op-of-nobody:live"
    assert cause(refused) == {"id": "default#of-nobody#k", "message": message}
    [kept] = cloud.rejected()
    assert (kept["error"], kept["message"], kept["input"]) == ("InvalidRequest", message, request)
    assert has_given_back_its_lock(cloud, request)
    cloud.add_function("of-nobody", FUNCTIONS / "plain_echo")
    again = cloud.run(kept["input"], lane=lane)
    assert (again.output["disposition"], again.output["attempt"]) == ("EXECUTED", 1)
    assert record_of(cloud, request)["fence"] == 2


def test_a_function_deleted_between_two_attempts_is_for_the_operator(cloud: LocalCloud, latches: Latches) -> None:
    request = scripted({"raise": "ConnectionError"}, {"return": "never"})
    with cloud.intercept(fails("ResourceNotFoundException", state="ExecuteBusinessLogic", nth=2)):
        ended = cloud.run(request)
    assert (ended.error, latches.starts()) == ("NeedsAttention", 1)
    record = record_of(cloud, request)
    assert (record["status"], record["error"]["name"]) == ("QUARANTINED", "Lambda.ResourceNotFoundException")


def test_whoever_takes_over_from_an_owner_that_may_have_begun_asks_the_operator(cloud: LocalCloud) -> None:
    request = of_nobody()
    dead(cloud, request, "ExecuteBusinessLogic")
    cloud.clock.advance(A_LEASE)
    assert cloud.run(request).error == "NeedsAttention"
    assert record_of(cloud, request)["status"] == "QUARANTINED"


# ---- the parameter Operations ----

MINE = "my-app-Charge-1A2B"
NAMED = {"Operations": f"charge-it={MINE}:live, refund=arn:aws:lambda:us-east-1:123456789012:function:my-refund"}
ONLY_NAMED = {**NAMED, "FunctionsByPrefix": "false"}


@contextmanager
def named(cloud: LocalCloud, **parameters: str) -> Iterator[None]:
    """Operations whose functions have names of their own, and know nothing of Once."""
    with cloud.deployed_with({**ONLY_NAMED, **parameters}):
        cloud.add_function("charge-it", FUNCTIONS / "plain_echo")
        cloud.add_function("refund", FUNCTIONS / "plain_echo")
        yield


@pytest.mark.parametrize("lane", LANES)
def test_an_operation_runs_the_function_that_is_named_for_it(cloud: LocalCloud, lane: Lane) -> None:
    with named(cloud):
        for operation in ("charge-it", "refund"):
            request = {"operation": operation, "idempotencyKey": lane, "payload": {"return": operation}}
            assert result(cloud, cloud.run(request, lane=lane)) == operation
            assert [each.operation for each in cloud.invocations(operation)] == [operation]
        assert {each.function for each in cloud.functions.invocations} == {MINE, "my-refund"}
        assert not cloud.denials()


@pytest.mark.parametrize("lane", LANES)
def test_an_unknown_operation_is_refused_without_a_lock(cloud: LocalCloud, lane: Lane) -> None:
    with named(cloud):
        refused = cloud.run(of_nobody(), lane=lane)
        assert refused.error == "InvalidRequest"
        message = "operation of-nobody has no function: the parameter Operations has charge-it, refund"
        assert cause(refused)["message"] == cloud.rejected()[0]["message"] == message
        assert cloud.record("default#of-nobody#k") is None
        assert not cloud.denials()


def test_an_operation_may_have_the_function_of_its_name(cloud: LocalCloud) -> None:
    with named(cloud, FunctionsByPrefix="true"):
        assert cloud.run(charge("by-prefix")).output["disposition"] == "EXECUTED"
        assert "the parameter Operations has charge-it, refund" in cause(cloud.run(of_nobody()))["message"]


@pytest.mark.parametrize("lane", LANES)
def test_a_recorded_answer_is_given_after_its_function_is_gone(cloud: LocalCloud, lane: Lane) -> None:
    done, failed = charge("done"), charge("failed", amount=-1, onFailed="retry")
    for request in (done, failed):
        cloud.run(request)
    with named(cloud):
        assert cloud.run(done, lane=lane).output["disposition"] == "REPLAYED"
        assert cloud.run(failed, lane=lane).error == "OperationFailed"
        assert not cloud.rejected()


def test_a_dead_owner_whose_function_is_gone_is_for_the_operator(cloud: LocalCloud) -> None:
    request = charge("died")
    dead(cloud, request, "ExecuteBusinessLogic")
    cloud.clock.advance(A_LEASE)
    with named(cloud):
        assert cloud.run(request).error == "NeedsAttention"
        assert record_of(cloud, request)["error"]["name"] == "NoFunction"


def test_a_large_answer_finds_its_bucket_in_the_event(cloud: LocalCloud) -> None:
    with named(cloud):
        cloud.add_function("refund", ROOT / "functions" / "build_report")
        request = {"operation": "refund", "idempotencyKey": "large", "payload": {"bytes": 300_000}}
        assert len(answer(cloud, cloud.run(request))) == 300_000
        [started] = cloud.invocations("refund")
        assert started.event["responseBucket"] == cloud.outputs["ResponseBucketName"]


def test_a_payload_that_is_the_whole_event_may_have_a_lock_of_its_own(cloud: LocalCloud) -> None:
    """A function that knows nothing of Once is watched by the promises, too; its event is not the request."""
    with named(cloud, PayloadOnlyOperations="refund, charge-it"):
        payload = {"payload": {"return": 1}, "lock": "front-door"}
        for operation in ("charge-it", "refund"):
            request = {"operation": operation, "idempotencyKey": "k", "payload": payload}
            assert cloud.run(request).output["disposition"] == "EXECUTED"
        assert {json.dumps(each.event) for each in cloud.functions.invocations} == {json.dumps(payload)}
