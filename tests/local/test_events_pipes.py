"""Pipes from a queue to a state machine."""

from __future__ import annotations

import json
from typing import Any

import pytest
from event_stand import Stand, in_name_only, queue, worker

from oncekit.local.events.exchange import left_out

REDRIVE = "VisibilityTimeout: 60, RedrivePolicy: { deadLetterTargetArn: !GetAtt Dead.Arn, maxReceiveCount: 3 }"
QUEUES = queue("Dead") + queue("Requests", REDRIVE)


def pipe(
    template: str | None = None, filters: list[Any] | None = None, way: str = "FIRE_AND_FORGET", **more: Any
) -> str:
    size = more.pop("size", 1)
    properties = {
        "RoleArn": "arn:aws:iam::123456789012:role/pipe",
        "Source": {"Fn::GetAtt": ["Requests", "Arn"]},
        "SourceParameters": {
            "SqsQueueParameters": {"BatchSize": size},
            **({"FilterCriteria": {"Filters": [{"Pattern": json.dumps(each)} for each in filters]}} if filters else {}),
        },
        "Target": {"Ref": "Worker"},
        "TargetParameters": {
            "StepFunctionStateMachineParameters": {"InvocationType": way},
            **({"InputTemplate": template} if template else {}),
        },
        **more,
    }
    return f"\n  Pipe: {json.dumps({'Type': 'AWS::Pipes::Pipe', 'Properties': properties})}\n"


def send(stand: Stand, body: Any, **more: Any) -> None:
    text = body if isinstance(body, str) else json.dumps(body)
    stand.cloud.client("sqs").send_message(QueueUrl=stand.stack.resources["Requests"].ref, MessageBody=text, **more)


def bodies(stand: Stand, name: str) -> list[str]:
    return [message.body for message in stand.messages(name)]


def until_visible_again(stand: Stand, times: int) -> None:
    for _ in range(times):
        stand.cloud.settle()
        stand.clock.advance(60)
    stand.cloud.settle()


@pytest.mark.aws(
    "EventBridge User Guide, Pipes input transformation",
    "batches are delivered to the target as JSON arrays, even if the batch size is 1",
)
def test_message_starts_an_execution_with_an_array_of_one_record(stand: Stand) -> None:
    stand.deploy(worker() + QUEUES + pipe())
    now = str(round(stand.clock.now() * 1000))
    send(stand, "hello", MessageAttributes={"kind": {"DataType": "String", "StringValue": "x"}})
    [[record]] = stand.inputs()
    assert len(record.pop("messageId")) == 36
    assert record.pop("receiptHandle")
    attributes = record.pop("attributes")
    assert attributes.pop("SenderId")
    assert record == {
        "body": "hello",
        "messageAttributes": {"kind": {"dataType": "String", "stringValue": "x"}},
        "md5OfBody": "5d41402abc4b2a76b9719d911017c592",
        "eventSource": "aws:sqs",
        "eventSourceARN": "arn:aws:sqs:us-east-1:123456789012:once-Requests",
        "awsRegion": "us-east-1",
    }
    assert attributes["ApproximateReceiveCount"] == "1"
    assert attributes["SentTimestamp"] == attributes["ApproximateFirstReceiveTimestamp"] == now
    assert stand.messages("Requests") == []


@pytest.mark.aws(
    "EventBridge User Guide, Pipes input transformation",
    "EventBridge transforms these fields into valid JSON so sub-values can be referenced directly",
)
@pytest.mark.aws(unconfirmed="V26")
@pytest.mark.parametrize(
    ("template", "body", "expected"),
    [
        ('{"all": <$.body>}', {"a": 1}, {"all": {"a": 1}}),
        ('{"body": <$.body>}', {"note": 'say "hi"\n'}, {"body": {"note": 'say "hi"\n'}}),
        ('{"id": <$.body.id>, "n": <$.body.n>, "text": "no <$.body.id>"}', {"id": "ab", "n": {"x": [1.5]}},
         {"id": "ab", "n": {"x": [1.5]}, "text": "no ab"}),
        ('{"gone": <$.body.gone>}', {"a": 1}, {"gone": ""}),
        ('{"gone": <$.body.id>}', "not JSON", {"gone": ""}),
        ('{"count": <$.attributes.ApproximateReceiveCount>}', "x", {"count": "1"}),
    ],
)  # fmt: skip
def test_template_makes_each_member_of_the_array(stand: Stand, template: str, body: Any, expected: Any) -> None:
    stand.deploy(worker() + QUEUES + pipe(template))
    send(stand, body)
    assert stand.inputs() == [[expected]]


@pytest.mark.aws(
    "EventBridge User Guide, Pipes SQS source",
    "When your pipe successfully processes a batch, EventBridge deletes its messages from the queue.",
)
def test_fire_and_forget_deletes_the_message_whatever_becomes_of_the_execution(stand: Stand) -> None:
    stand.deploy(worker() + QUEUES + pipe())
    send(stand, "fail")
    assert [execution.status for execution in stand.executions()] == ["FAILED"]
    until_visible_again(stand, 5)
    assert len(stand.executions()) == 1
    assert bodies(stand, "Requests") == bodies(stand, "Dead") == []


@pytest.mark.aws(
    "EventBridge User Guide, Pipes SQS source",
    "When your pipe returns an error, EventBridge keeps it in the queue. After the visibility timeout",
)
@pytest.mark.aws(
    "EventBridge User Guide, Pipes SQS source",
    "To send messages to a second queue after a number of receives, configure a dead-letter queue on your",
)
def test_message_that_cannot_start_an_execution_ends_in_the_dead_letter_queue(stand: Stand) -> None:
    stand.deploy(worker() + QUEUES + pipe())
    large = "x" * 300_000
    send(stand, large)
    stand.cloud.settle()
    until_visible_again(stand, 3)
    assert stand.executions() == []
    assert [len(body) for body in bodies(stand, "Dead")] == [300_000]


@pytest.mark.aws(
    "EventBridge User Guide, Pipes input transformation",
    "If your target requires valid JSON payloads (for example, EventBridge Lambda or Step Functions), this",
)
@pytest.mark.aws(
    "EventBridge User Guide, Input transformation",
    "EventBridge does not escape values extracted by Input Path, when populating the Input Template for a",
)
@pytest.mark.parametrize(
    ("template", "body"),
    [
        ("<$.body>", {"key": "value"}),
        ('{"all": "<$.body>"}', {"id": 1}),
        ('{"body": <$.body>}', '{"broken": '),
        ('{"body": <$.body>}', "two\nlines"),
        ('{"id": <$.body.id>}', {"id": 'a"b'}),
    ],
)
def test_input_that_is_not_json_ends_in_the_dead_letter_queue(stand: Stand, template: str, body: Any) -> None:
    stand.deploy(worker() + QUEUES + pipe(template))
    send(stand, body)
    until_visible_again(stand, 3)
    assert stand.executions() == []
    assert len(bodies(stand, "Dead")) == 1


@pytest.mark.aws(
    "EventBridge User Guide, Pipes SQS source",
    "When your pipe returns an error, EventBridge keeps it in the queue. After the visibility timeout",
)
@pytest.mark.aws("SQS Developer Guide, Standard queues", "Standard queues support at-least-once message delivery")
def test_redelivered_message_starts_a_second_execution(stand: Stand) -> None:
    stand.deploy(worker() + QUEUES + pipe('{"body": <$.body>}'))
    with stand.cloud.lose_events(lambda _: [0.0, 0.0]):
        send(stand, {"id": 1})
        assert stand.inputs() == [[{"body": {"id": 1}}], [{"body": {"id": 1}}]]
    with stand.cloud.lose_events(lambda _: []):
        send(stand, {"id": 2})
        stand.cloud.settle()
    assert len(bodies(stand, "Requests")) == 1, "a delivery that is lost leaves its message in the queue"
    stand.clock.advance(60)
    assert stand.inputs()[2:] == [[{"body": {"id": 2}}]]


@pytest.mark.ours
@pytest.mark.parametrize(
    "odd",
    [
        pipe(way="REQUEST_RESPONSE"),
        pipe(Target="arn:aws:lambda:us-east-1:123456789012:function:f"),
        pipe(filters=[{"body": ["raw"]}]),
        pipe('{"a": <what.is.this>}'),
    ],
)
def test_pipe_that_the_local_cloud_does_not_run_is_left_out_and_told(stand: Stand, odd: str) -> None:
    stand.deploy(worker() + QUEUES + odd)
    assert list(left_out(stand.stack.resources)) == ["Pipe (AWS::Pipes::Pipe)"]


@pytest.mark.ours
def test_a_pipe_to_a_machine_in_name_only_is_told_so(stand: Stand, caplog: pytest.LogCaptureFixture) -> None:
    stand.deploy(in_name_only(stand) + QUEUES + pipe())
    send(stand, "a")
    until_visible_again(stand, 3)
    assert bodies(stand, "Dead") == ["a"]
    told = "once-Pipe starts nothing: the local cloud has Worker-local in name only: the state Both is a Parallel"
    assert set(caplog.messages) == {told}
