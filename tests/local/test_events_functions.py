"""Asynchronous invocations of functions: by rules, schedules, clients, and what becomes of a failure."""

from __future__ import annotations

import json
from typing import Any

import pytest
from event_stand import Stand, function, queue

from oncekit.local.events.exchange import left_out
from oncekit.local.lambda_runtime import FunctionSpec

ASYNC = "Lambda Developer Guide, How Lambda handles errors and retries with asynchronous invocation"
RETAIN = "Lambda Developer Guide, Capturing records of Lambda asynchronous invocations"
ORDERS = "Order: { Type: EventBridgeRule, Properties: { Pattern: { source: [shop] } } }"

CALLER = """
import boto3

def handler(event, context):
    given = {"FunctionName": "once-Later", "InvocationType": "Event", "Payload": b'{"n": 1}'}
    told = boto3.client("lambda").invoke(**given)
    return [told["StatusCode"], told["Payload"].read().decode()]
"""


def put(stand: Stand, **detail: Any) -> None:
    entry = {"Source": "shop", "DetailType": "Order", "Detail": json.dumps(detail)}
    stand.cloud.client("events").put_events(Entries=[entry])


def request_ids(stand: Stand) -> set[str]:
    return {each.request_id for each in stand.cloud.functions.invocations}


@pytest.mark.aws(
    "Lambda Developer Guide, Invoking Lambda with events from other AWS services",
    "Amazon EventBridge (CloudWatch Events): Event-driven; asynchronous invocation",
)
def test_a_function_gets_the_events_of_its_rule(stand: Stand) -> None:
    stand.deploy(function(stand, ORDERS))
    assert list(left_out(stand.stack.resources)) == []
    put(stand, id=1)
    [event] = stand.got()
    assert (event["source"], event["detail-type"], event["detail"]) == ("shop", "Order", {"id": 1})


@pytest.mark.aws(
    ASYNC, "If the function returns an error, by default Lambda attempts to run it two more times, with a one-minute"
)
@pytest.mark.aws(
    "Knowledge Center, Lambda function duplicate invocations",
    "Duplicate invocations that return errors or timeout and that have the same request ID indicate that the Lambda",
)
def test_a_function_that_fails_is_tried_after_one_and_two_minutes_and_no_more(stand: Stand) -> None:
    letters = "DeadLetterQueue: { Type: SQS, TargetArn: !GetAtt Dead.Arn }"
    stand.deploy(queue("Dead") + function(stand, ORDERS, more=letters))
    began = stand.clock.now()
    put(stand, do="fail")
    assert len(stand.got()) == 3
    assert stand.clock.now() - began == pytest.approx(180, abs=1)
    [dead] = stand.bodies("Dead")
    assert dead["detail"] == {"do": "fail"}
    [request_id] = request_ids(stand)
    assert stand.attributes("Dead") == [
        {"RequestID": request_id, "ErrorCode": "200", "ErrorMessage": "it failed"},
    ]


@pytest.mark.aws(RETAIN, "The invocation record contains details about the request and response in JSON format.")
@pytest.mark.parametrize(("detail", "condition"), [({"do": "fail"}, "RetriesExhausted"), ({"id": 1}, "Success")])
def test_the_record_of_an_invocation_goes_to_its_destination(stand: Stand, detail: Any, condition: str) -> None:
    ends = ", ".join(f"On{each}: {{ Type: SQS, Destination: !GetAtt Ends.Arn }}" for each in ("Success", "Failure"))
    config = f"EventInvokeConfig: {{ MaximumRetryAttempts: 0, DestinationConfig: {{ {ends} }} }}"
    stand.deploy(queue("Ends") + function(stand, ORDERS, more=f"AutoPublishAlias: live\n      {config}"))
    put(stand, **detail)
    [record] = stand.bodies("Ends")
    [request_id] = request_ids(stand)
    assert record["requestContext"] == {
        "requestId": request_id,
        "functionArn": "arn:aws:lambda:us-east-1:123456789012:function:once-Works:live",
        "condition": condition,
        "approximateInvokeCount": 1,
    }
    assert record["requestPayload"]["detail"] == detail
    failed = condition != "Success"
    assert record["responseContext"].get("functionError") == ("Unhandled" if failed else None)
    assert failed is (record["responsePayload"] is not None)


@pytest.mark.aws(
    ASYNC, "the function again for up to 6 hours by default. The retry interval increases exponentially from 1 second"
)
def test_a_throttled_function_is_tried_until_its_events_are_too_old(stand: Stand) -> None:
    config = "EventInvokeConfig: { MaximumEventAgeInSeconds: 60 }\n      ReservedConcurrentExecutions: 0"
    letters = "DeadLetterQueue: { Type: SQS, TargetArn: !GetAtt Dead.Arn }"
    stand.deploy(queue("Dead") + function(stand, ORDERS, more=f"{config}\n      {letters}"))
    began = stand.clock.now()
    put(stand, id=1)
    assert stand.got() == []
    assert 30 <= stand.clock.now() - began <= 60
    assert [each["detail"] for each in stand.bodies("Dead")] == [{"id": 1}]


@pytest.mark.aws(
    "Lambda Developer Guide, Invoking a Lambda function asynchronously",
    "For asynchronous invocation, Lambda places the event in a queue and returns a success response without additional",
)
def test_a_function_invokes_another_one_and_goes_on(stand: Stand) -> None:
    stand.deploy(function(stand) + function(stand, name="Later"))
    caller = stand.folder / "caller"
    caller.mkdir()
    (caller / "app.py").write_text(CALLER)
    stand.cloud.register_function("caller", FunctionSpec(caller))
    answer = stand.cloud.functions.invoke(FunctionName="caller")
    assert json.loads(answer["Payload"].read()) == [202, ""]
    assert stand.got("Later") == [{"n": 1}]


@pytest.mark.ours
def test_a_rule_for_a_function_that_is_elsewhere_is_left_out_and_told(stand: Stand) -> None:
    there = "arn:aws:lambda:us-east-1:123456789012:function:other"
    stand.deploy(
        f"  Rule: {{ Type: AWS::Events::Rule, Properties: {{ EventPattern: {{ source: [a] }},"
        f" Targets: [{{ Id: a, Arn: '{there}' }}] }} }}\n"
    )
    assert list(left_out(stand.stack.resources)) == ["Rule (AWS::Events::Rule)"]


@pytest.mark.aws(
    "Lambda Developer Guide, Using Lambda with Amazon EventBridge Scheduler",
    "EventBridge Scheduler invokes your Lambda function asynchronously.",
)
@pytest.mark.aws(unconfirmed="V112")
def test_a_schedule_invokes_a_function_at_its_turns(stand: Stand) -> None:
    old = "Old: { Type: Schedule, Properties: { Schedule: rate(5 minutes) } }"
    said = "Said: { Type: Schedule, Properties: { Schedule: 'cron(0 0 * * ? *)', Input: '{\"n\": 1}' } }"
    new = "New: { Type: ScheduleV2, Properties: { ScheduleExpression: rate(7 minutes) } }"
    off = "Idle: { Type: Schedule, Properties: { Schedule: rate(1 minute), Enabled: false } }"
    stand.deploy(function(stand, f"{old}, {said}, {new}, {off}"))
    assert list(left_out(stand.stack.resources)) == []
    stand.clock.advance(8 * 60)
    first, second = stand.got()
    assert (first["source"], first["detail-type"], first["detail"]) == ("aws.events", "Scheduled Event", {})
    assert first["resources"] == [stand.stack.resources["WorksOld"].attributes("Arn")]
    assert (second["source"], second["detail-type"], second["detail"]) == ("aws.scheduler", "Scheduled Event", "{}")
    assert second["resources"] == [stand.stack.resources["WorksNew"].attributes("Arn")]
    assert second["time"] > first["time"]
    stand.clock.advance(86_400)
    assert {"n": 1} in stand.got()
