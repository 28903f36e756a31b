"""Requests by event and by message: redelivery has one effect, and nothing ends in silence."""

from __future__ import annotations

import json

import pytest
from botocore.exceptions import ClientError
from scenarios.scene import Scene

pytestmark = pytest.mark.longest(120)
TOO_LARGE = 300_000
"""Bytes: more than an execution takes (256 KiB), less than a message may have (1 MiB)."""


@pytest.fixture
def events(scene: Scene) -> None:
    if "EventBusName" not in scene.backend.stack.outputs:
        pytest.skip("the stack has EventTrigger=false")


@pytest.fixture
def messages(scene: Scene) -> None:
    if "RequestQueueUrl" not in scene.backend.stack.outputs:
        pytest.skip("the stack has QueueTrigger=false")
    if scene.backend.stack.parameters.get("RequestQueueFilter"):
        pytest.skip("the stack has a RequestQueueFilter, which may delete the suite's messages")


@pytest.mark.usefixtures("events")
def test_event_and_its_duplicates_have_one_effect(scene: Scene) -> None:
    request = scene.charge()
    scene.send("eventbridge", json.dumps(request), times=3)
    record = scene.record_in(request, "COMPLETED")
    again = scene.run(request)
    assert (again.disposition, scene.answer(again).decode()) == ("REPLAYED", record["result"])
    assert scene.record_in(request, "COMPLETED")["fence"] == 1
    assert scene.charges(request) == 1


@pytest.mark.usefixtures("messages")
def test_message_and_its_duplicates_have_one_effect(scene: Scene) -> None:
    request = scene.charge()
    scene.send("sqs", json.dumps(request), times=3)
    record = scene.record_in(request, "COMPLETED")
    again = scene.run(request)
    assert (again.disposition, scene.answer(again).decode()) == ("REPLAYED", record["result"])
    assert scene.record_in(request, "COMPLETED")["fence"] == 1
    assert scene.charges(request) == 1


@pytest.mark.usefixtures("events", "messages")
def test_same_request_by_every_way_has_one_effect(scene: Scene) -> None:
    request = scene.scripted({"returns": 1})
    scene.send("eventbridge", json.dumps(request))
    scene.send("sqs", json.dumps(request))
    assert scene.run({**request, "onConflict": "wait"}).status == "SUCCEEDED"
    record = scene.record_in(request, "COMPLETED")
    assert (record["fence"], scene.starts(request)) == (1, 1)


@pytest.mark.usefixtures("messages")
def test_message_that_is_not_json_is_refused_and_kept(scene: Scene) -> None:
    body = f"no JSON, but {scene.key()}"
    scene.send("sqs", body)
    [kept] = scene.refused(body)
    assert kept["error"] == "InvalidRequest"
    assert kept["input"] == [body]


@pytest.mark.slow
@pytest.mark.longest(900)
@pytest.mark.usefixtures("messages")
def test_message_too_large_to_start_an_execution_with_ends_in_the_dead_letter_queue(scene: Scene) -> None:
    request = scene.charge(note="x" * TOO_LARGE)
    try:
        scene.send("sqs", json.dumps(request))
    except ClientError as refused:
        pytest.skip(f"the queue takes no such message: {refused}")
    [body] = scene.never_started(request["idempotencyKey"])
    assert json.loads(body) == request
    assert scene.record(request) is None
    assert scene.charges(request) == 0
