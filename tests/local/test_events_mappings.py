"""Event source mappings: a function behind its own queue."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from event_stand import HEAD, Stand, deployed, function, queue

from oncekit.local import LocalCloud
from oncekit.local.events.exchange import left_out
from oncekit.local.templates.intrinsics import TemplateError

REDRIVE = "VisibilityTimeout: 60, RedrivePolicy: { deadLetterTargetArn: !GetAtt Dead.Arn, maxReceiveCount: 3 }"
QUEUES = queue("Dead") + queue("Requests", REDRIVE)
FIFO = queue("Requests", "FifoQueue: true, ContentBasedDeduplication: true, VisibilityTimeout: 60")
PARTIAL = "FunctionResponseTypes: [ReportBatchItemFailures]"
USING = "Lambda Developer Guide, Using Lambda with Amazon SQS"
ERRORS = "Lambda Developer Guide, Handling errors for an SQS event source"


def from_queue(more: str = "") -> str:
    return f"Queue: {{ Type: SQS, Properties: {{ Queue: !GetAtt Requests.Arn, {more} }} }}"


def send(stand: Stand, *bodies: Any, **more: Any) -> None:
    """All at once: they can be received together."""
    texts = [body if isinstance(body, str) else json.dumps(body) for body in bodies]
    entries = [{"Id": str(at), "MessageBody": text, **more} for at, text in enumerate(texts)]
    with stand.clock.held():
        stand.cloud.client("sqs").send_message_batch(QueueUrl=stand.stack.resources["Requests"].ref, Entries=entries)


def batches(stand: Stand) -> list[list[str]]:
    return [[each["body"] for each in event["Records"]] for event in stand.got()]


def bodies(stand: Stand, name: str) -> list[str]:
    return [message.body for message in stand.messages(name)]


def until_visible_again(stand: Stand, times: int = 1) -> None:
    for _ in range(times):
        stand.cloud.settle()
        stand.clock.advance(60)
    stand.cloud.settle()


@pytest.mark.aws(
    USING, "When your function successfully processes a batch, Lambda deletes its messages from the queue."
)
def test_a_function_gets_a_message_of_its_queue_once(stand: Stand) -> None:
    stand.deploy(QUEUES + function(stand, from_queue()))
    now = str(round(stand.clock.now() * 1000))
    send(stand, "hello", MessageAttributes={"kind": {"DataType": "String", "StringValue": "x"}})
    [event] = stand.got()
    [record] = event["Records"]
    assert len(record.pop("messageId")) == 36
    assert record.pop("receiptHandle")
    assert record.pop("attributes").items() >= {"ApproximateReceiveCount": "1", "SentTimestamp": now}.items()
    kind = {"dataType": "String", "stringValue": "x", "stringListValues": [], "binaryListValues": []}
    assert record == {
        "body": "hello",
        "messageAttributes": {"kind": kind},
        "md5OfBody": "5d41402abc4b2a76b9719d911017c592",
        "eventSource": "aws:sqs",
        "eventSourceARN": "arn:aws:sqs:us-east-1:123456789012:once-Requests",
        "awsRegion": "us-east-1",
    }
    until_visible_again(stand, 2)
    assert bodies(stand, "Requests") == []
    assert len(stand.got()) == 1


@pytest.mark.aws(
    USING, "Lambda receives these events one batch at a time, and invokes your function once for each batch."
)
def test_a_batch_waits_for_more_until_it_is_full_or_its_window_is_over(stand: Stand) -> None:
    stand.deploy(QUEUES + function(stand, from_queue("BatchSize: 3, MaximumBatchingWindowInSeconds: 20")))
    began = stand.clock.now()
    send(stand, *"abcd")
    assert [len(each) for each in batches(stand)] == [3, 1]
    assert stand.clock.now() - began == pytest.approx(20, abs=1)


@pytest.mark.ours
def test_messages_that_are_sent_together_come_together_each_time(stand: Stand) -> None:
    stand.deploy(QUEUES + function(stand, from_queue()))
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # so that the thread that looks gets its chance between two of them
    try:
        for _ in range(10):
            send(stand, *"abcdefghij")
            stand.cloud.settle()
    finally:
        sys.setswitchinterval(before)
    assert batches(stand) == [[*"abcdefghij"]] * 10


@pytest.mark.aws(
    USING, "all messages in that batch become visible in the queue again after the visibility timeout expires."
)
def test_a_batch_that_fails_comes_again_and_ends_in_the_dead_letter_queue(stand: Stand) -> None:
    stand.deploy(QUEUES + function(stand, from_queue()))
    send(stand, "fail", "b")
    assert batches(stand) == [["fail", "b"]]
    until_visible_again(stand, 4)
    assert batches(stand) == [["fail", "b"]] * 3
    assert bodies(stand, "Dead") == ["fail", "b"]


@pytest.mark.aws(ERRORS, "you can configure your event source mapping to make only the failed messages visible again.")
def test_only_the_messages_that_the_answer_names_come_again(stand: Stand) -> None:
    stand.deploy(QUEUES + function(stand, from_queue(PARTIAL)))
    send(stand, "a", "bad", "c")
    until_visible_again(stand)
    assert batches(stand) == [["a", "bad", "c"], ["bad"]]
    assert bodies(stand, "Requests") == ["bad"]


WRONG = [
    {"answer": 1, "batchItemFailures": [each]}
    for each in ({"itemIdentifier": ""}, {"itemIdentifier": None}, {"x": "y"}, {"itemIdentifier": "other"})
]


@pytest.mark.aws(
    "Lambda Developer Guide, Handling errors for an SQS event source",
    "Lambda treats a batch as a complete failure if your function returns any of the following",
)
@pytest.mark.parametrize("answered", WRONG)
def test_an_answer_that_names_no_message_fails_the_batch(stand: Stand, answered: Any) -> None:
    stand.deploy(QUEUES + function(stand, from_queue(PARTIAL)))
    send(stand, "a", answered)
    until_visible_again(stand)
    assert len(batches(stand)) == 2
    assert len(bodies(stand, "Requests")) == 2


@pytest.mark.aws(ERRORS, "Lambda treats a batch as a complete success if your function returns any of the following")
@pytest.mark.parametrize("answered", [{"answer": 1}, {"answer": 1, "batchItemFailures": None}])
@pytest.mark.parametrize("more", ["", PARTIAL])
def test_an_answer_without_failures_is_a_success(stand: Stand, answered: Any, more: str) -> None:
    stand.deploy(QUEUES + function(stand, from_queue(more)))
    send(stand, answered)
    until_visible_again(stand)
    assert bodies(stand, "Requests") == []


@pytest.mark.aws(
    "Lambda Developer Guide, Control which events Lambda sends to your function",
    "Lambda automatically removes the message from the queue. You don't have to manually delete these messages",
)
def test_messages_that_no_filter_matches_are_deleted_without_an_invocation(stand: Stand) -> None:
    pattern = '{"body": {"kind": ["order"]}}'
    stand.deploy(QUEUES + function(stand, from_queue(f"FilterCriteria: {{ Filters: [{{ Pattern: '{pattern}' }}] }}")))
    send(stand, {"kind": "order"}, {"kind": "other"}, "text")
    assert batches(stand) == [['{"kind": "order"}']]
    assert bodies(stand, "Requests") == []


@pytest.mark.aws(model="sqs", says="Messages that belong to the same message group are processed in a FIFO manner")
def test_messages_of_a_group_wait_for_the_one_before_them_that_failed(stand: Stand) -> None:
    stand.deploy(FIFO + function(stand, from_queue("BatchSize: 1")))
    send(stand, "fail 1", "2", MessageGroupId="a")
    send(stand, "3", MessageGroupId="b")
    assert batches(stand) == [["fail 1"], ["3"]]
    [record] = stand.got()[0]["Records"]
    assert record["attributes"].keys() >= {"MessageGroupId", "MessageDeduplicationId", "SequenceNumber"}
    until_visible_again(stand)
    assert batches(stand) == [["fail 1"], ["3"], ["fail 1"]]


@pytest.mark.aws(
    USING,
    "Lambda event source mappings process each event at least once, and duplicate processing of records can occur.",
)
def test_a_test_can_deliver_a_message_twice_or_lose_a_delivery(stand: Stand) -> None:
    stand.deploy(QUEUES + function(stand, from_queue()))
    with stand.cloud.lose_events(lambda _: [0.0, 5.0]):
        send(stand, "a")
        assert batches(stand) == [["a"], ["a"]]
    with stand.cloud.lose_events(lambda _: []):
        send(stand, "b")
        assert len(batches(stand)) == 2
    until_visible_again(stand)
    assert batches(stand)[2:] == [["b"]]


@pytest.mark.ours
def test_a_mapping_that_is_switched_off_takes_nothing(stand: Stand) -> None:
    stand.deploy(QUEUES + function(stand, from_queue("Enabled: false")))
    send(stand, "a")
    assert stand.got() == []
    assert bodies(stand, "Requests") == ["a"]


@pytest.mark.ours
def test_a_mapping_in_name_only_is_told_with_its_reason(stand: Stand) -> None:
    stream = "Type: Kinesis, Properties: { StartingPosition: LATEST, Stream: 'arn:aws:kinesis:us-east-1:1:stream/s' }"
    stand.deploy(QUEUES + function(stand, f"Clicks: {{ {stream} }}, {from_queue()}"))
    told = "functions get no events of kinesis here"
    assert list(left_out(stand.stack.resources)) == [f"WorksClicks (AWS::Lambda::EventSourceMapping: {told})"]
    send(stand, "a")
    assert batches(stand) == [["a"]]


@pytest.mark.ours
def test_a_filter_that_aws_refuses_is_told(stand: Stand) -> None:
    with pytest.raises(TemplateError, match="WorksQueue: AWS would refuse a filter"):
        stand.deploy(QUEUES + function(stand, from_queue("FilterCriteria: { Filters: [{ Pattern: '{\"a\": 1}' }] }")))


@pytest.mark.aws(
    "Lambda Developer Guide, Creating and configuring an Amazon SQS event source mapping",
    "policy includes the permissions that Lambda needs to read from your Amazon SQS queue",
)
def test_a_mapping_acts_under_the_role_of_its_function(tmp_path: Path, cloud: LocalCloud) -> None:
    """SAM gives the role what it needs; a role of one's own may lack it."""
    own = """
  Bare:
    Type: AWS::IAM::Role
    Properties: { AssumeRolePolicyDocument: {}, Policies: [] }
"""
    stand = Stand(tmp_path, cloud)
    for role, expected in (("", 1), ("Role: !GetAtt Bare.Arn", 0)):
        template = HEAD + QUEUES + own + function(stand, from_queue(), more=role)
        with deployed(cloud, tmp_path, template), cloud.delivering():
            url = cloud.resources["Requests"]
            cloud.client("sqs").send_message(QueueUrl=url, MessageBody="a")
            cloud.settle()
            assert len(cloud.functions.invocations) == expected
            denied = [each.action for each in cloud.denials()]
            assert denied == ([] if expected else ["sqs:ReceiveMessage"])
        cloud.reset()
