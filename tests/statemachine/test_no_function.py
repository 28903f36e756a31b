"""Which function runs an operation, what a request for none is told, and what an operator gets when it is gone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from http_client import Client
from latches import Latches
from scenario import LANES, record_of, result, run, scripted

from oncekit.contract.lanes import Lane
from oncekit.local import LocalCloud
from oncekit.local.engine.interceptors import before, fails

ROOT = Path(__file__).parents[2]
FUNCTIONS = ROOT / "tests" / "functions"
MINE = "my-app-Charge-1A2B"
NAMED = f"charge-it={MINE}:live,refund=arn:aws:lambda:us-east-1:123456789012:function:my-refund"


@contextmanager
def named(cloud: LocalCloud, **parameters: str) -> Iterator[None]:
    """Operations whose functions have names of their own, and know nothing of Once."""
    with cloud.deployed_with({"Operations": NAMED, **parameters}):
        cloud.add_function("charge-it", FUNCTIONS / "plain_echo")
        cloud.add_function("refund", FUNCTIONS / "plain_echo")
        yield


@LANES
def test_a_function_that_does_not_exist_is_for_the_operator(cloud: LocalCloud, latches: Latches, lane: Lane) -> None:
    request = scripted({"return": "never"})
    with cloud.intercept(fails("ResourceNotFoundException", state="ExecuteBusinessLogic")):
        ended = run(cloud, request, lane)
    assert (ended.error, latches.starts()) == ("NeedsAttention", 0)
    record = record_of(cloud, request)
    assert (record["status"], record["error"]["name"], "request" in record) == ("QUARANTINED", "NoFunction", True)
    assert "deploy one called" in record["error"]["message"]


@pytest.mark.parametrize("by_http", [False, True])
def test_what_was_accepted_before_its_operation_went_is_for_the_operator(
    cloud: LocalCloud, client: Client, by_http: bool
) -> None:
    """Its sender was told that it is in progress, so it is not refused; with the function there again it can run."""
    request = {"operation": "refund", "idempotencyKey": "k", "payload": {"return": 1}}
    deployed = ExitStack()

    def take_away() -> None:
        deployed.enter_context(cloud.deployed_with({"Operations": NAMED.partition(",")[0]}))

    with named(cloud, FullLaneOperations="refund"), cloud.intercept(before(take_away, state="HandOver")), deployed:
        if by_http:
            assert client.post("refund", "k", request["payload"], Prefer="respond-async").status == 202
        else:
            assert run(cloud, request, "fast").output["disposition"] == "IN_PROGRESS"
        cloud.settle()
        record = record_of(cloud, request)
        assert (record["status"], record["error"]["name"]) == ("QUARANTINED", "NoFunction")
        assert "name one in Operations" in record["error"]["message"] and not cloud.rejected()


@LANES
def test_an_operation_runs_the_function_that_is_named_for_it(cloud: LocalCloud, lane: Lane) -> None:
    with named(cloud):
        for operation in ("charge-it", "refund"):
            request = {"operation": operation, "idempotencyKey": lane, "payload": {"return": operation}}
            assert result(cloud, run(cloud, request, lane)) == operation
            assert [each.operation for each in cloud.invocations(operation)] == [operation]
        assert {each.function for each in cloud.functions.invocations} == {MINE, "my-refund"}
        assert not cloud.denials()


def test_a_payload_that_is_the_whole_event_may_have_a_lock_of_its_own(cloud: LocalCloud) -> None:
    """A function that knows nothing of Once is watched by the promises, too; its event is not the request."""
    with named(cloud, PayloadOnlyOperations="refund, charge-it"):
        payload = {"payload": {"return": 1}, "lock": "front-door"}
        for operation in ("charge-it", "refund"):
            request = {"operation": operation, "idempotencyKey": "k", "payload": payload}
            assert cloud.run(request).output["disposition"] == "EXECUTED"
        assert {json.dumps(each.event) for each in cloud.functions.invocations} == {json.dumps(payload)}
