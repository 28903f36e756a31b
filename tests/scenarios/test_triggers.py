"""Requests by event and by message: redelivery has one effect, and nothing ends in silence."""

from __future__ import annotations

import json

import pytest
from botocore.exceptions import ClientError
from scenarios.scene import Scene

pytestmark = [pytest.mark.longest(120), pytest.mark.lanes("full"), pytest.mark.aws(unconfirmed="V1")]
"""The triggers start the lane that the stack's parameter says; only the duplicate at the end is started by hand."""
TOO_LARGE = 300_000
"""Bytes: more than an execution takes (256 KiB), less than a message may have (1 MiB)."""


def skip_unless_delivered(scene: Scene, *ways: str) -> None:
    stack = scene.backend.stack
    if "eventbridge" in ways and "EventBusName" not in stack.outputs:
        pytest.skip("the stack takes no events")
    if "sqs" in ways and "RequestQueueUrl" not in stack.outputs:
        pytest.skip("the stack takes no messages")


@pytest.mark.parametrize(
    "ways",
    [["eventbridge"] * 3, ["sqs"] * 3, ["eventbridge", "sqs"]],
    ids=["events", "messages", "both"],
)
def test_request_that_triggers_deliver_again_and_again_has_one_effect(scene: Scene, ways: list[str]) -> None:
    skip_unless_delivered(scene, *ways)
    request = scene.charge()
    for way in ways:
        scene.send(way, json.dumps(request))
    if scene.backend.stack.parameters["Lane"] == "full":  # in the fast lane nobody can list what triggers start
        dispositions = [each.disposition for each in scene.came_of(request, at_least=len(ways))]
        assert dispositions.count("EXECUTED") == 1
    scene.record_in(request, "COMPLETED")
    again = scene.run(request)
    record = scene.record_in(request, "COMPLETED")
    assert (again.disposition, scene.answer(again).decode()) == ("REPLAYED", record["result"])
    assert record["fence"] == 1
    assert scene.charges(request) == 1


def test_message_that_is_not_json_is_refused_and_kept(scene: Scene) -> None:
    skip_unless_delivered(scene, "sqs")
    body = f"no JSON, but {scene.key()}"
    scene.send("sqs", body)
    [kept] = scene.refused(body)
    assert kept["error"] == "InvalidRequest"
    assert kept["input"] == [{"body": body}]


@pytest.mark.slow
@pytest.mark.longest(900)
@pytest.mark.aws(unconfirmed="V89")
def test_message_too_large_to_start_an_execution_with_ends_in_the_dead_letter_queue(scene: Scene) -> None:
    skip_unless_delivered(scene, "sqs")
    request = scene.charge(note="x" * TOO_LARGE)
    try:
        scene.send("sqs", json.dumps(request))
    except ClientError as refused:
        if "InvalidParameterValue" not in refused.response["Error"]["Code"]:
            raise
        pytest.skip(f"the queue takes no such message: {refused}")
    scene.queues.expect("RequestDeadLetterQueueUrl", request["idempotencyKey"])
    [body] = scene.never_started(request["idempotencyKey"])
    assert json.loads(body) == request
    assert scene.record(request) is None
    assert scene.charges(request) == 0
