"""Notifications of buckets: to functions, queues and rules."""

from __future__ import annotations

from typing import Any

import pytest
from event_stand import Stand, function, queue

from oncekit.local.events.exchange import left_out

SHAPE = "Amazon S3 User Guide, Event message structure"
BUCKET = "  Files: { Type: AWS::S3::Bucket }\n"


def from_bucket(events: str = "'s3:ObjectCreated:*'", rules: str = "") -> str:
    filters = f", Filter: {{ S3Key: {{ Rules: [{rules}] }} }}" if rules else ""
    return f"Files: {{ Type: S3, Properties: {{ Bucket: !Ref Files, Events: {events}{filters} }} }}"


def store(stand: Stand) -> Any:
    return stand.cloud.client("s3")


def told(stand: Stand) -> list[tuple[str, str]]:
    records = [record for event in stand.got() for record in event["Records"]]
    return [(record["eventName"], record["s3"]["object"]["key"]) for record in records]


@pytest.mark.aws(SHAPE, "The s3 key provides information about the bucket and object involved in the event.")
@pytest.mark.aws(
    SHAPE,
    '"red flower.jpg" becomes "red+flower.jpg" (Amazon S3 returns "application/x-www-form-urlencoded" as the content',
)
def test_a_function_is_told_of_an_object_that_is_created(stand: Stand) -> None:
    stand.deploy(BUCKET + function(stand, from_bucket()))
    assert list(left_out(stand.stack.resources)) == []
    store(stand).put_object(Bucket="once-files", Key="in/red flower.jpg", Body=b"abc")
    [event] = stand.got()
    [record] = event["Records"]
    assert (record["eventSource"], record["eventVersion"]) == ("aws:s3", "2.1")
    assert record["eventName"] == "ObjectCreated:Put"
    assert record["s3"]["bucket"].items() >= {"name": "once-files", "arn": "arn:aws:s3:::once-files"}.items()
    about = record["s3"]["object"]
    assert about.pop("sequencer")
    assert about == {"key": "in/red+flower.jpg", "size": 3, "eTag": "900150983cd24fb0d6963f7d28e17f72"}


@pytest.mark.aws(
    "Amazon S3 User Guide, Configuring event notifications",
    "you must specify which supported Amazon S3 event types cause Amazon S3 to send the notification",
)
def test_a_function_is_told_what_it_asked_for(stand: Stand) -> None:
    rules = "{ Name: prefix, Value: in/ }, { Name: suffix, Value: .csv }"
    events = "['s3:ObjectCreated:Copy', 's3:ObjectRemoved:*']"
    stand.deploy(BUCKET + function(stand, from_bucket(events, rules)))
    for key in ("in/a.csv", "in/a.txt", "out/a.csv"):
        store(stand).put_object(Bucket="once-files", Key=key, Body=b"")
    store(stand).copy_object(Bucket="once-files", Key="in/b.csv", CopySource="once-files/in/a.csv")
    stand.cloud.settle()
    for key in ("in/a.csv", "in/a.txt"):
        store(stand).delete_object(Bucket="once-files", Key=key)
    assert told(stand) == [("ObjectCreated:Copy", "in/b.csv"), ("ObjectRemoved:Delete", "in/a.csv")]
    assert stand.got()[1]["Records"][0]["s3"]["object"].keys() == {"key", "sequencer"}


@pytest.mark.aws(
    "Lambda Developer Guide, Process Amazon S3 event notifications with Lambda",
    "Amazon S3 invokes your function asynchronously with an event that contains details about the object.",
)
def test_a_function_that_fails_is_told_three_times(stand: Stand) -> None:
    stand.deploy(BUCKET + function(stand, from_bucket()))
    store(stand).put_object(Bucket="once-files", Key="fail", Body=b"")
    assert told(stand) == [("ObjectCreated:Put", "fail")] * 3


@pytest.mark.aws("Amazon S3 User Guide, Using EventBridge", "Amazon S3 can send events to Amazon EventBridge whenever")
def test_queues_and_rules_are_told_too(stand: Stand) -> None:
    bucket = """
  Files:
    Type: AWS::S3::Bucket
    Properties:
      NotificationConfiguration:
        QueueConfigurations: [{ Event: "s3:ObjectCreated:*", Queue: !GetAtt Requests.Arn }]
        EventBridgeConfiguration: { EventBridgeEnabled: true }
"""
    created = "Pattern: { source: [aws.s3], detail-type: [Object Created] }"
    stand.deploy(
        bucket + queue("Requests") + function(stand, f"Rule: {{ Type: EventBridgeRule, Properties: {{ {created} }} }}")
    )
    store(stand).put_object(Bucket="once-files", Key="red flower", Body=b"abc")
    [event] = stand.got()
    assert event["detail"]["bucket"] == {"name": "once-files"}
    assert event["detail"]["object"].items() >= {"key": "red flower", "size": 3}.items()
    assert event["detail"]["reason"] == "PutObject"
    [body] = stand.bodies("Requests")
    assert body["Records"][0]["s3"]["object"]["key"] == "red+flower"


@pytest.mark.aws(
    "Amazon S3 User Guide, EventBridge event message structure",
    "when an unversioned object is deleted, or a versioned object is permanently deleted, this is set to Permanently",
)
def test_a_rule_is_told_how_an_object_was_deleted(stand: Stand) -> None:
    events = "NotificationConfiguration: { EventBridgeConfiguration: { EventBridgeEnabled: true } }"
    bucket = f"  Files: {{ Type: AWS::S3::Bucket, Properties: {{ {events} }} }}\n"
    deleted = "Pattern: { source: [aws.s3], detail-type: [Object Deleted] }"
    stand.deploy(bucket + function(stand, f"Rule: {{ Type: EventBridgeRule, Properties: {{ {deleted} }} }}"))
    store(stand).put_object(Bucket="once-files", Key="a", Body=b"")
    store(stand).delete_object(Bucket="once-files", Key="a")
    [event] = stand.got()
    assert (event["detail"]["reason"], event["detail"]["deletion-type"]) == ("DeleteObject", "Permanently Deleted")


@pytest.mark.ours
def test_a_bucket_whose_notifications_reach_nobody_here_is_told(stand: Stand) -> None:
    other = "arn:aws:lambda:us-east-1:123456789012:function:other"
    one = f"{{ Event: 's3:ObjectCreated:*', Function: '{other}' }}"
    stand.deploy(
        "  Files: { Type: AWS::S3::Bucket, Properties: { NotificationConfiguration: "
        f"{{ LambdaConfigurations: [{one}] }} }} }}\n"
    )
    reason = f"its notifications do not reach {other}"
    assert list(left_out(stand.stack.resources)) == [f"Files (AWS::S3::Bucket: {reason})"]
    store(stand).put_object(Bucket="once-files", Key="a", Body=b"")
