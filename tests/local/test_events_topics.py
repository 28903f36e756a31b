"""Subscriptions of topics: functions, and queues with functions behind them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from event_stand import Stand, function, queue

from oncekit.local.events.exchange import left_out

USING = "Lambda Developer Guide, Invoking Lambda functions with Amazon SNS notifications"
TOPIC = "  News: { Type: AWS::SNS::Topic }\n"
POLICY = "FilterPolicy: { kind: [order] }"


def from_topic(more: str = "") -> str:
    return f"Hears: {{ Type: SNS, Properties: {{ Topic: !Ref News, {more} }} }}"


def publish(stand: Stand, message: str, kind: str | None = None, **more: Any) -> str:
    attributes = {} if kind is None else {"kind": {"DataType": "String", "StringValue": kind}}
    topic = stand.stack.resources["News"].ref
    answer = stand.cloud.client("sns").publish(TopicArn=topic, Message=message, MessageAttributes=attributes, **more)
    return str(answer["MessageId"])


@pytest.mark.aws(USING, "Amazon SNS invokes your function asynchronously with an event that contains a message")
@pytest.mark.aws(unconfirmed="V112")
def test_a_function_gets_the_messages_of_its_topic(stand: Stand) -> None:
    stand.deploy(TOPIC + function(stand, from_topic()))
    assert list(left_out(stand.stack.resources)) == []
    message_id = publish(stand, "hello", "order", Subject="new")
    [event] = stand.got()
    [record] = event["Records"]
    assert (record["EventSource"], record["EventVersion"]) == ("aws:sns", "1.0")
    told = record["Sns"]
    assert record["EventSubscriptionArn"].startswith(told["TopicArn"])
    assert (
        told.items()
        >= {
            "Type": "Notification",
            "MessageId": message_id,
            "TopicArn": stand.stack.resources["News"].ref,
            "Subject": "new",
            "Message": "hello",
        }.items()
    )
    assert told["MessageAttributes"] == {"kind": {"Type": "String", "Value": "order"}}
    assert {"Timestamp", "Signature", "SignatureVersion", "SigningCertUrl", "UnsubscribeUrl"} <= told.keys()


@pytest.mark.aws(
    "Amazon SNS Developer Guide, Message filtering",
    "To receive only a subset of the messages, a subscriber must assign a filter policy",
)
def test_a_function_gets_what_its_filter_policy_takes(stand: Stand) -> None:
    body = "FilterPolicyScope: MessageBody, FilterPolicy: { kind: [order] }"
    stand.deploy(TOPIC + function(stand, from_topic(POLICY)) + function(stand, from_topic(body), name="Reads"))
    publish(stand, "a", "order")
    publish(stand, "b", "other")
    publish(stand, '{"kind": "order"}')
    assert [event["Records"][0]["Sns"]["Message"] for event in stand.got()] == ["a"]
    assert [event["Records"][0]["Sns"]["Message"] for event in stand.got("Reads")] == ['{"kind": "order"}']


@pytest.mark.aws(
    "Lambda Developer Guide, How Lambda handles errors and retries with asynchronous invocation",
    "If the function returns an error, by default Lambda attempts to run it two more times, with a one-minute",
)
def test_a_function_that_fails_gets_the_message_three_times(stand: Stand) -> None:
    stand.deploy(TOPIC + function(stand, from_topic()))
    publish(stand, "fail")
    assert len(stand.got()) == 3


@pytest.mark.aws(
    "Amazon SNS Developer Guide, Raw message delivery",
    "any Amazon SNS metadata is stripped from the published message and the message is sent as is",
)
@pytest.mark.parametrize("is_raw", [True, False])
def test_a_queue_gets_the_messages_of_its_topic_for_its_function(stand: Stand, is_raw: bool) -> None:
    raw = "RawMessageDelivery: true" if is_raw else "RawMessageDelivery: false"
    given = f"Protocol: sqs, TopicArn: !Ref News, {raw}, {POLICY}, Endpoint: !GetAtt Requests.Arn"
    subscription = f"  Sub: {{ Type: AWS::SNS::Subscription, Properties: {{ {given} }} }}\n"
    mapping = "Queue: { Type: SQS, Properties: { Queue: !GetAtt Requests.Arn } }"
    stand.deploy(TOPIC + queue("Requests") + subscription + function(stand, mapping))
    publish(stand, "a", "order")
    publish(stand, "b", "other")
    [event] = stand.got()
    body = event["Records"][0]["body"]
    assert body == "a" if is_raw else json.loads(body)["Message"] == "a"


@pytest.mark.ours
def test_a_subscription_that_nobody_delivers_is_told(stand: Stand) -> None:
    there = "{ Type: AWS::SNS::Subscription, Properties: { Protocol: %s, TopicArn: %s, Endpoint: '%s' } }\n"
    other = "arn:aws:lambda:us-east-1:123456789012:function:other"
    stand.deploy(
        TOPIC
        + "  Mail: " + there % ("email", "!Ref News", "a@shop.example")
        + "  Calls: " + there % ("https", "!Ref News", "https://shop.example")
        + "  Lost: " + there % ("lambda", "!Ref News", other)
        + "  Far: " + there % ("lambda", "arn:aws:sns:us-east-1:123456789012:far", other)
    )  # fmt: skip
    assert list(left_out(stand.stack.resources)) == [
        "Calls (AWS::SNS::Subscription: https is not delivered here)",
        f"Lost (AWS::SNS::Subscription: the function {other} does not run here)",
        "Far (AWS::SNS::Subscription: its topic is not here)",
    ]
    publish(stand, "a")
