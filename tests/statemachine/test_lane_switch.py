"""The lane of the triggers is switched while requests are under way: nothing is lost, and nothing happens twice."""

from __future__ import annotations

import json
from typing import Any

import pytest
from latches import Latches
from scenario import put, record_of, scripted

from oncekit.local import LocalCloud


def send(cloud: LocalCloud, request: Any) -> None:
    cloud.client("sqs").send_message(QueueUrl=cloud.outputs["RequestQueueUrl"], MessageBody=json.dumps(request))


def in_lane(cloud: LocalCloud, lane: str) -> int:
    output = {"full": "StateMachineArn", "fast": "FastStateMachineArn"}[lane]
    return len(cloud.executions.of(cloud.outputs[output]))


@pytest.mark.parametrize(("before", "after"), [("full", "fast"), ("fast", "full")])
def test_request_that_is_sent_before_and_after_the_switch_has_one_effect(
    cloud: LocalCloud, latches: Latches, before: str, after: str
) -> None:
    request = scripted({"await": "go", "then": {"return": "done"}})
    with cloud.delivering():
        with cloud.deployed_with({"Lane": before}):
            put(cloud, request)
            latches.wait_for_starts(1)
            with cloud.deployed_with({"Lane": after}):
                for way in (put, send):
                    way(cloud, request)
                latches.open("go")
                cloud.settle()
                put(cloud, request)
                cloud.settle()
        assert (in_lane(cloud, before), in_lane(cloud, after)) == (1, 3)
    assert record_of(cloud, request)["status"] == "COMPLETED"
    assert len(cloud.invocations("scripted")) == 1
