"""Queues in the clock's time."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from event_stand import Stand, queue

REDRIVE = "VisibilityTimeout: 60, RedrivePolicy: { deadLetterTargetArn: !GetAtt Dead.Arn, maxReceiveCount: 3 }"
BOTH = queue("Dead") + queue("Requests", REDRIVE)


class Sqs:
    """A client of one queue."""

    def __init__(self, stand: Stand, name: str, client: Any = None) -> None:
        self.client = client or stand.cloud.client("sqs")
        self.url = stand.stack.resources[name].ref

    def send(self, body: str, **more: Any) -> None:
        self.client.send_message(QueueUrl=self.url, MessageBody=body, **more)

    def receive(self, **more: Any) -> list[dict[str, Any]]:
        messages: list[dict[str, Any]] = self.client.receive_message(QueueUrl=self.url, **more).get("Messages", [])
        return messages


@pytest.mark.aws(
    model="sqs",
    says="When the ReceiveCount for a message exceeds the maxReceiveCount for a queue, Amazon SQS moves the",
)
def test_poison_message_reaches_the_dead_letter_queue_after_max_receive_count(stand: Stand) -> None:
    stand.deploy(BOTH)
    sqs, dead = Sqs(stand, "Requests"), Sqs(stand, "Dead")
    sqs.send("poison")
    for _ in range(3):
        assert len(sqs.receive()) == 1
        stand.clock.advance(60)
    assert dead.receive() == []
    assert sqs.receive() == []
    assert [message["Body"] for message in dead.receive()] == ["poison"]
    assert stand.messages("Requests") == []


@pytest.mark.aws(
    "SQS Developer Guide, Visibility timeout",
    "To terminate a message's visibility timeout after calling ReceiveMessage, call ChangeMessageVisibility with",
)
def test_message_that_is_given_back_is_visible_at_once(stand: Stand) -> None:
    stand.deploy(BOTH)
    sqs = Sqs(stand, "Requests")
    sqs.send("a")
    handle = sqs.receive()[0]["ReceiptHandle"]
    sqs.client.change_message_visibility(QueueUrl=sqs.url, ReceiptHandle=handle, VisibilityTimeout=0)
    assert len(sqs.receive()) == 1


@pytest.mark.aws(model="sqs", says="Messages that belong to the same message group are processed in a FIFO manner")
def test_messages_of_a_group_that_were_received_together_come_again_in_their_order(stand: Stand) -> None:
    stand.deploy(queue("Requests", "FifoQueue: true, ContentBasedDeduplication: true, VisibilityTimeout: 60"))
    sqs = Sqs(stand, "Requests")
    for body in "abc":
        sqs.send(body, MessageGroupId="one")
    for _ in range(2):
        assert [each["Body"] for each in sqs.receive(MaxNumberOfMessages=10)] == ["a", "b", "c"]
        stand.clock.advance(60)


@pytest.mark.ours
def test_long_poll_waits_in_real_time_and_ends_with_the_message(stand: Stand) -> None:
    stand.deploy(BOTH)
    sqs = Sqs(stand, "Requests")
    threading.Timer(0.2, sqs.send, ["a"]).start()
    assert [message["Body"] for message in sqs.receive(WaitTimeSeconds=20)] == ["a"]
