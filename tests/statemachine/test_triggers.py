"""The ready events, and what starts nothing; tests/scenarios has what triggers deliver again and again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from scenario import charge, put, rows

from oncekit.local import LocalCloud

EVENTS = Path(__file__).parents[2] / "events"


@pytest.fixture(autouse=True)
def delivering(cloud: LocalCloud) -> Iterator[None]:
    with cloud.delivering():
        yield


def test_the_ready_event_of_each_trigger_starts_the_same_operation_once(cloud: LocalCloud) -> None:
    request = (EVENTS / "charge-payment.json").read_text()
    entries = json.loads((EVENTS / "triggers" / "eventbridge.json").read_text())
    assert cloud.client("events").put_events(Entries=entries)["FailedEntryCount"] == 0
    cloud.client("sqs").send_message(QueueUrl=cloud.outputs["RequestQueueUrl"], MessageBody=request)
    cloud.settle()
    by_hand = cloud.run(request)
    assert (by_hand.status, by_hand.output["disposition"]) == ("SUCCEEDED", "REPLAYED")
    assert rows(cloud, "ProviderLedgerTable") == 1


def test_event_that_cannot_start_an_execution_ends_in_the_dead_letter_queue(cloud: LocalCloud) -> None:
    def refused(delivery: Any) -> Any:
        from botocore.exceptions import ClientError

        raise ClientError({"Error": {"Code": "StateMachineDeleting", "Message": "no"}}, "StartExecution")

    with cloud.lose_events(refused):
        put(cloud, charge())
        cloud.settle()
    assert dead_letters(cloud, "EventDeadLetterQueueUrl") == 1


def dead_letters(cloud: LocalCloud, queue: str) -> int:
    count = "ApproximateNumberOfMessages"
    told = cloud.client("sqs").get_queue_attributes(QueueUrl=cloud.outputs[queue], AttributeNames=[count])
    return int(told["Attributes"][count])


@pytest.mark.aws(unconfirmed="V89")
@pytest.mark.parametrize("bytes_of_payload", [270_000, 1_000_000])
def test_what_queue_and_bus_take_and_no_execution_does_ends_in_the_dead_letter_queues(
    cloud: LocalCloud, bytes_of_payload: int
) -> None:
    """SQS and EventBridge take 1 MiB, Step Functions 256 KiB: no retry makes such a message smaller."""
    request = charge()
    request["payload"]["note"] = "x" * bytes_of_payload
    put(cloud, request)
    cloud.client("sqs").send_message(QueueUrl=cloud.outputs["RequestQueueUrl"], MessageBody=json.dumps(request))
    for _ in range(6):  # five tries, a minute apart, until the queue gives up
        cloud.settle()
        cloud.clock.advance(60)  # type: ignore[attr-defined]  # the clock of tests is virtual
    cloud.settle()
    assert (dead_letters(cloud, "EventDeadLetterQueueUrl"), dead_letters(cloud, "RequestDeadLetterQueueUrl")) == (1, 1)
    assert rows(cloud, "ProviderLedgerTable") == 0


@pytest.mark.parametrize(
    ("parameters", "missing"),
    [({"EventBusName": "none"}, "EventBusName"), ({"QueueTrigger": "false"}, "RequestQueueUrl")],
)
def test_trigger_can_be_switched_off(cloud: LocalCloud, parameters: dict[str, str], missing: str) -> None:
    with cloud.deployed_with(parameters):
        assert missing not in cloud.outputs
        assert cloud.run(charge()).output["disposition"] == "EXECUTED"


BROUGHT = {"tenant": "victim", "operation": "charge-payment", "idempotencyKey": "k", "prefer": "", "body": "%7B%7D"}
"""What the HTTP API writes, for another tenant."""


@pytest.mark.parametrize("lane", ["fast", "full"])
def test_a_key_with_quotes_is_a_key_and_a_message_with_quotes_no_request(cloud: LocalCloud, lane: str) -> None:
    spliced = f'k", "http": {json.dumps(BROUGHT)}, "x": "'
    request = charge(spliced)
    with cloud.deployed_with({"Lane": lane}):
        put(cloud, request)
        for body in (json.dumps(request), spliced):
            cloud.client("sqs").send_message(QueueUrl=cloud.outputs["RequestQueueUrl"], MessageBody=body)
        cloud.settle()
    assert [start.event["idempotencyKey"] for start in cloud.invocations()] == [spliced]
    [kept] = cloud.rejected()
    assert kept["input"] == [{"body": "k", "http": BROUGHT, "x": ""}]
