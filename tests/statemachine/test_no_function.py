"""A request for an operation that has no function is refused, kept, and leaves no lock."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from http_client import Client
from latches import Latches
from scenario import A_LEASE, answer, cause, charge, dead, record_of, result, scripted

from oncekit.local import LocalCloud
from oncekit.local.faults import answer_lost, fails, never_arrives
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


@pytest.mark.parametrize("fault", [answer_lost, never_arrives], ids=["answer lost", "never arrives"])
@pytest.mark.parametrize("state", ["AcquireLock", "KeepRefused", "UndoLock"])
@pytest.mark.parametrize("lane", LANES)
def test_calls_of_a_request_without_a_function_may_be_lost(
    cloud: LocalCloud, fault: Any, state: str, lane: Lane
) -> None:
    request = of_nobody()
    with cloud.intercept(fault(state=state)):
        assert cloud.run(request, lane=lane).error == "InvalidRequest"
    assert has_given_back_its_lock(cloud, request)
    assert {message["error"] for message in cloud.rejected()} == {"InvalidRequest"}


UNSENDABLE = {"return": "\ufffe and \uffff", "quoted": '\\"\ufffe'}
"""What no message of SQS can hold as it is."""


@pytest.mark.parametrize("lane", LANES)
def test_a_refused_request_whose_record_is_deleted_is_not_begun_anew(
    cloud: LocalCloud, latches: Latches, lane: Lane, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The function is there by then; the lock would have the fence of the one that a late UndoLock gives back."""
    for waits in ("TTL_DELAY_SECONDS", "LOOK_EVERY_SECONDS"):
        monkeypatch.setattr(f"oncekit.local.ageing.{waits}", 0)
    request = scripted({"return": 1})
    missing = fails("ResourceNotFoundException", status=404, state="ExecuteBusinessLogic")
    with cloud.intercept(missing, answer_lost(state="UndoLock")):
        refused = cloud.run(request, lane=lane)
    assert (refused.error, refused.states[-1]) == ("InvalidRequest", "RequestRefused")
    assert (latches.starts(), len(cloud.rejected())) == (0, 1)


@pytest.mark.parametrize("lane", LANES)
def test_odd_characters_page_no_operator_for_a_missing_function(cloud: LocalCloud, lane: Lane) -> None:
    request = of_nobody(payload=UNSENDABLE)
    assert cloud.run(request, lane=lane).error == "InvalidRequest"
    [kept] = cloud.rejected()
    assert json.loads(kept["inputText"]) == request
    assert kept["inputText"].isascii()
    assert has_given_back_its_lock(cloud, request)


@pytest.mark.parametrize("more", [{"n": 12345678901234568}, {"long": "x" * 20_000}], ids=["long number", "long text"])
def test_what_a_message_cannot_hold_exactly_is_kept_for_the_operator(
    cloud: LocalCloud, client: Client, more: dict[str, Any]
) -> None:
    request = of_nobody(payload={**UNSENDABLE, **more})
    assert cloud.run(request).error == "NeedsAttention"
    assert client.post("of-nobody", "by-http", request["payload"]).status == 500
    for key in ("k", "by-http"):
        assert record_of(cloud, of_nobody(idempotencyKey=key))["status"] == "QUARANTINED"
    assert cloud.rejected() == []


def test_a_function_deleted_between_two_attempts_is_for_the_operator(cloud: LocalCloud, latches: Latches) -> None:
    request = scripted({"raise": "ConnectionError"}, {"return": "never"})
    with cloud.intercept(fails("ResourceNotFoundException", state="ExecuteBusinessLogic", nth=2)):
        ended = cloud.run(request)
    assert (ended.error, latches.starts()) == ("NeedsAttention", 1)
    record = record_of(cloud, request)
    assert (record["status"], record["error"]["name"]) == ("QUARANTINED", "Lambda.ResourceNotFoundException")


def test_a_failed_operation_tried_again_without_its_function_is_kept(cloud: LocalCloud, latches: Latches) -> None:
    request = scripted({"raise": "PermanentError"}, {"return": "never"})
    assert cloud.run(request).error == "OperationFailed"
    gone = fails("ResourceNotFoundException", state="ExecuteBusinessLogic", nth=0)
    with cloud.intercept(gone, answer_lost(state="RetryFailed")):
        assert cloud.run({**request, "onFailed": "retry"}).error == "NeedsAttention"
    assert record_of(cloud, request)["status"] == "QUARANTINED"


@pytest.mark.parametrize("state", ["KeepRefused", "UndoLock"])
@pytest.mark.parametrize("on_crash", ["retry", "quarantine"])
def test_a_dead_owner_is_followed_by_one_that_gives_the_lock_back(cloud: LocalCloud, on_crash: str, state: str) -> None:
    request = of_nobody(onCrash=on_crash)
    dead(cloud, request, state)
    cloud.clock.advance(A_LEASE)
    assert cloud.run(request).error == "InvalidRequest"
    assert has_given_back_its_lock(cloud, request)


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
