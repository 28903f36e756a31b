"""Every path of the state machines and of what starts them, a run each, in virtual time."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping
from typing import Any

from botocore.exceptions import ClientError
from http_client import Client
from scenario import BUSINESS, charge, dies, put

from oncekit.local import LocalCloud, VirtualClock
from oncekit.local.engine.interceptors import answer_lost, never_arrives
from oncekit.local.events import Delivery
from oncekit.local.once_cloud import PREFIX
from oncekit.proof.simulation.paths import ORDER, request

A_LEASE = 3600
POISON = 6
LARGE = request("plain-echo", {"bytes": 10, "text": "y" * 5000})
_keys = (f"path-{n}" for n in itertools.count())


def another(given: Mapping[str, Any]) -> dict[str, Any]:
    """The same request under a key that no other has."""
    return {**given, "idempotencyKey": next(_keys)}


def executed_and_replayed(cloud: LocalCloud) -> None:
    for each in (charge(), ORDER, request("build-report", {"bytes": 1024}), request("library-calls", {})):
        asked = another(each)
        cloud.run_all([asked, asked])
        cloud.run(asked)


def offloaded_by_the_library(cloud: LocalCloud) -> None:
    cloud.run(another(request("build-report", {"bytes": 300_000})))
    # A second run of the same attempt meets the object that the first one has written.
    event = cloud.invocations("build-report")[-1].event
    cloud.functions.invoke(FunctionName=f"{PREFIX}build-report", Payload=json.dumps(event))


def cached_and_cached_again(cloud: LocalCloud) -> None:
    """The second call of CacheResponse meets the object that the first one has written."""
    with cloud.intercept(answer_lost(state="CacheResponse")):
        cloud.run(another(request("plain-echo", {"bytes": 6000})))


def failed_for_good(cloud: LocalCloud) -> None:
    cloud.run(another({**charge(), "payload": {}}))


def quarantined(cloud: LocalCloud) -> None:
    with cloud.intercept(answer_lost(state="ExecuteBusinessLogic")):
        cloud.run(another(charge(onCrash="quarantine")))


def refused(cloud: LocalCloud) -> None:
    cloud.run({})


def mismatched(cloud: LocalCloud) -> None:
    asked = another(charge())
    cloud.run(asked)
    cloud.run({**asked, "payload": {**asked["payload"], "amount": 1}})


def taken_over_by_a_duplicate(cloud: LocalCloud) -> None:
    asked = another(charge())
    with cloud.intercept(dies(cloud, BUSINESS)):
        cloud.run(asked)
    _pass(cloud, A_LEASE)
    cloud.run(asked)


def recovered_by_the_sweep(cloud: LocalCloud) -> None:
    """One request is small, the other too large for the record."""
    with cloud.delivering():
        for asked in (charge(), LARGE):
            with cloud.intercept(dies(cloud, BUSINESS)):
                cloud.run(another(asked))
        _pass(cloud, 400)


def sweep_that_cannot_be_started(cloud: LocalCloud) -> None:
    def refuse(_delivery: Delivery) -> tuple[float, ...]:
        raise ClientError({"Error": {"Code": "StateMachineDeleting", "Message": "going"}}, "StartExecution")

    with cloud.delivering(), cloud.lose_events(refuse):
        _pass(cloud, 301)


def executed_and_replayed_in_the_fast_lane(cloud: LocalCloud) -> None:
    asked = another(charge())
    for _ in range(2):
        _fast(cloud, asked)


def cached_in_the_fast_lane(cloud: LocalCloud) -> None:
    _fast(cloud, another(request("plain-echo", {"bytes": 6000})))


def quarantined_in_the_fast_lane(cloud: LocalCloud) -> None:
    with cloud.intercept(answer_lost(state="ExecuteBusinessLogic")):
        _fast(cloud, another(charge(onCrash="quarantine")))


def refused_in_the_fast_lane(cloud: LocalCloud) -> None:
    _fast(cloud, {})


def kept_by_the_fast_lane(cloud: LocalCloud) -> None:
    _fast(cloud, another(LARGE))


def handed_over(cloud: LocalCloud) -> None:
    with cloud.intercept(never_arrives(state="ReadRecord", nth=range(1, 6))):
        _fast(cloud, another(charge()))


def refused_by_the_other_lane(cloud: LocalCloud) -> None:
    with cloud.intercept(never_arrives(state="RefuseRequest", nth=range(1, 5))):
        _fast(cloud, {})


def _fast(cloud: LocalCloud, asked: Mapping[str, Any]) -> None:
    """An execution of the fast lane, and what it handed over."""
    machine = cloud.outputs["FastStateMachineArn"]
    cloud.wait(cloud.start_machine(machine, json.dumps(asked), f"fast-{next(_keys)}"))
    cloud.settle()


def requested_by_an_event(cloud: LocalCloud) -> None:
    with cloud.delivering():
        put(cloud, another(charge()))
        cloud.settle()


def requested_by_a_message(cloud: LocalCloud) -> None:
    with cloud.delivering():
        for body in (json.dumps(another(charge())), "no request"):
            cloud.client("sqs").send_message(QueueUrl=cloud.outputs["RequestQueueUrl"], MessageBody=body)
            cloud.settle()


def requested_by_a_message_that_no_execution_can_be_started_with(cloud: LocalCloud) -> None:
    body = json.dumps(another(charge(x="y" * 300_000)))
    with cloud.delivering():
        cloud.client("sqs").send_message(QueueUrl=cloud.outputs["RequestQueueUrl"], MessageBody=body)
        for _ in range(POISON):
            cloud.settle()
            _pass(cloud, 61)


def requested_by_http(cloud: LocalCloud) -> None:
    """A small result and a large one, each asked for again, and the large one fetched."""
    client = Client(cloud)
    for operation, payload in (("charge-payment", charge()["payload"]), ("build-report", {"bytes": 300_000})):
        key = f"http-{next(_keys)}"
        started = client.post(operation, key, payload)
        client.get(operation, key)
        if "location" in started.headers:
            client.send("GET", f"/default/{started.headers['location']}")


def _pass(cloud: LocalCloud, seconds: float) -> None:
    assert isinstance(cloud.clock, VirtualClock)
    cloud.clock.advance(seconds)
    cloud.settle()


PATHS: tuple[Callable[[LocalCloud], None], ...] = (
    executed_and_replayed,
    offloaded_by_the_library,
    cached_and_cached_again,
    failed_for_good,
    quarantined,
    refused,
    mismatched,
    taken_over_by_a_duplicate,
    recovered_by_the_sweep,
    sweep_that_cannot_be_started,
    executed_and_replayed_in_the_fast_lane,
    cached_in_the_fast_lane,
    quarantined_in_the_fast_lane,
    refused_in_the_fast_lane,
    kept_by_the_fast_lane,
    handed_over,
    refused_by_the_other_lane,
    requested_by_an_event,
    requested_by_a_message,
    requested_by_http,
    requested_by_a_message_that_no_execution_can_be_started_with,
)
