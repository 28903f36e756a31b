"""Rules: which target gets what, what is tried again, and what ends in the dead-letter queue."""

from __future__ import annotations

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError
from event_stand import Stand, in_name_only, queue, worker

from oncekit.local.events import Delivery
from oncekit.local.events.exchange import left_out
from oncekit.local.templates.intrinsics import TemplateError

EVENT = {
    "id": "o-1",
    "lines": [{"n": 1}, {"n": 2}],
    "open": True,
    "of": None,
    "price": 1.5,
}


def rule(target: str, bus: str = "", arn: str = "!Ref Worker", more: str = "") -> str:
    """A rule for orders, with one target."""
    return f"""
  Rule:
    Type: AWS::Events::Rule
    Properties:
      {bus}
      {more}
      EventPattern: {{ source: [shop], detail-type: [Order], detail: {{ id: [{{ prefix: o- }}] }} }}
      Targets:
        - Id: target
          Arn: {arn}
          RoleArn: arn:aws:iam::123456789012:role/rule
          {target}
"""


def put(stand: Stand, detail: Any = EVENT, client: Any = None, **more: Any) -> str:
    entry = {"Source": "shop", "DetailType": "Order", "Detail": json.dumps(detail), **more}
    answer = (client or stand.cloud.client("events")).put_events(Entries=[entry])
    assert answer["FailedEntryCount"] == 0
    identity: str = answer["Entries"][0]["EventId"]
    return identity


def transformer(template: str, **paths: str) -> str:
    return "InputTransformer: " + json.dumps({"InputPathsMap": paths, "InputTemplate": template})


def throttled(_delivery: Delivery) -> list[float]:
    raise ClientError({"Error": {"Code": "ThrottlingException", "Message": "slow down"}}, "StartExecution")


@pytest.mark.aws(
    "EventBridge User Guide, Rules", "EventBridge receives an event that matches the event pattern in the rule"
)
def test_matching_event_starts_the_state_machine_with_the_event(stand: Stand) -> None:
    stand.deploy(worker() + rule(""))
    identity = put(stand)
    put(stand, {"id": "p-1"})
    [event] = stand.inputs()
    assert event.pop("time").endswith("Z")
    assert event == {
        "version": "0",
        "id": identity,
        "detail-type": "Order",
        "source": "shop",
        "account": "123456789012",
        "region": "us-east-1",
        "resources": [],
        "detail": EVENT,
    }


@pytest.mark.aws(
    model="events",
    says="Input, InputPath, and InputTransformer are mutually exclusive and optional parameters of a target.",
)
@pytest.mark.aws(unconfirmed="V26")
@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("Input: '{\"fixed\": 1}'", {"fixed": 1}),
        ("InputPath: $.detail.lines", [{"n": 1}, {"n": 2}]),
        (transformer('{"a": <id>, "b": "<id>"}', id="$.detail.id"), {"a": "o-1", "b": "o-1"}),
        (transformer('{"a": <l>, "o": <o>, "n": <n>, "p": <p>}',
                     l="$.detail.lines", o="$.detail.open", n="$.detail.of", p="$.detail.price"),
         {"a": [{"n": 1}, {"n": 2}], "o": True, "n": None, "p": 1.5}),
        (transformer('"<l> and <o>"', l="$.detail.lines", o="$.detail.open"), "[{n:1},{n:2}] and true"),
        (transformer('{"a": <gone>}', gone="$.detail.gone"), {"a": ""}),
        (transformer('{"\\"a\\"": "\\"<id>\\" <id>"}', id="$.detail.id"), {'"a"': '"o-1" o-1'}),
    ],
)  # fmt: skip
def test_target_gets_the_input_that_was_made_for_it(stand: Stand, target: str, expected: Any) -> None:
    stand.deploy(worker() + rule(target))
    put(stand)
    assert stand.inputs() == [expected]


DEAD = "DeadLetterConfig: { Arn: !GetAtt Dead.Arn }"


def policy(attempts: int, age: int = 86_400) -> str:
    return f"{DEAD}\n          RetryPolicy: {{ MaximumRetryAttempts: {attempts}, MaximumEventAgeInSeconds: {age} }}"


@pytest.mark.aws(
    "EventBridge User Guide, Retry policy",
    "By default, EventBridge retries sending the event for 24 hours and up to 185 times",
)
def test_throttled_target_gets_the_event_later(stand: Stand) -> None:
    stand.deploy(worker() + queue("Dead") + rule(policy(5)))
    began = stand.clock.now()
    with stand.cloud.lose_events(lambda each: throttled(each) if each.attempt < 3 else [0.0]):
        put(stand)
        assert len(stand.executions()) == 1
    assert round(stand.clock.now() - began) == 1 + 2 + 4
    assert stand.messages("Dead") == []


@pytest.mark.aws(
    "EventBridge User Guide, Dead-letter queues",
    "you can configure a dead-letter queue (DLQ) and send all failed events to it for processing later",
)
@pytest.mark.aws(
    "EventBridge User Guide, Dead-letter queues",
    "The following is a sample of the error codes a DLQ can return: NO_PERMISSIONS, NO_RESOURCE",
)
def test_event_whose_attempts_are_used_up_is_in_the_dead_letter_queue(stand: Stand) -> None:
    stand.deploy(worker() + queue("Dead") + rule(policy(2)))
    with stand.cloud.lose_events(throttled):
        identity = put(stand)
        [attributes] = stand.attributes("Dead")
    [body] = stand.bodies("Dead")
    assert (body["id"], body["detail"]) == (identity, EVENT), "the event, not the input that was made of it"
    assert attributes == {
        "RULE_ARN": stand.stack.resources["Rule"].attributes("Arn"),
        "TARGET_ARN": stand.stack.resources["Worker"].ref,
        "ERROR_CODE": "THROTTLING",
        "ERROR_MESSAGE": "slow down",
        "RETRY_ATTEMPTS": "2",
        "EXHAUSTED_RETRY_CONDITION": "MaximumRetryAttempts",
    }
    assert stand.executions() == []


@pytest.mark.aws(
    "EventBridge User Guide, Input transformation",
    "EventBridge does not escape values extracted by Input Path, when populating the Input Template for a",
)
@pytest.mark.aws(unconfirmed="V35")
@pytest.mark.parametrize(
    ("arn", "target", "code"),
    [
        ("arn:aws:states:us-east-1:123456789012:stateMachine:gone", "", "NO_RESOURCE"),
        ("arn:aws:sqs:us-east-1:123456789012:gone", "", "NO_RESOURCE"),
        ("!Ref Worker", transformer('{"a": "<all>"}', all="$.detail"), "INVALID_JSON"),
        ("!Ref Worker", transformer('{"a": <note>}', note="$.detail.note"), "INVALID_JSON"),
        ("!Ref Worker", transformer('{"a": "<n>", "b": "<n>"}', n="$.detail.long"), "INVALID_PARAMETER"),
    ],
)  # fmt: skip
def test_what_cannot_go_better_is_not_tried_again(stand: Stand, arn: str, target: str, code: str) -> None:
    stand.deploy(worker() + queue("Dead") + rule(f"{target}\n          {policy(0)}", arn=arn))
    put(stand, {"id": "o-1", "long": "x" * 150_000, "note": 'a "quoted" note'})
    [attributes] = stand.attributes("Dead")
    assert (attributes["ERROR_CODE"], attributes["RETRY_ATTEMPTS"]) == (code, "0")
    assert "EXHAUSTED_RETRY_CONDITION" not in attributes


@pytest.mark.ours
@pytest.mark.parametrize("dead", [policy(185), ""], ids=["with a dead-letter queue", "without"])
def test_a_rule_to_a_machine_in_name_only_is_told_so(stand: Stand, dead: str, caplog: pytest.LogCaptureFixture) -> None:
    stand.deploy(in_name_only(stand) + queue("Dead") + rule(dead))
    put(stand)
    told = "the local cloud has Worker-local in name only: the state Both is a Parallel"
    assert [each["ERROR_MESSAGE"] for each in stand.attributes("Dead")] == ([told] if dead else [])
    assert [each["RETRY_ATTEMPTS"] for each in stand.attributes("Dead")] == (["0"] if dead else [])
    assert caplog.messages == [f"once-Rule starts nothing: {told}"]


@pytest.mark.aws(
    "EventBridge User Guide, Input transformation",
    "The full original event payload as JSON (with the detail field). Can only be used as a value for a JSON",
)
def test_a_template_can_have_the_whole_event_as_a_value(stand: Stand) -> None:
    template = '{"event": <aws.events.event.json>, "after": {"id": [<id>, "$.detail.id"]}}'
    stand.deploy(worker() + rule(transformer(template, id="$.detail.id")))
    detail = {**EVENT, "note": 'say "hi", \\ or {"id": 1}\n', "of": None, "large": 2**60, "price": 0.1}
    identity = put(stand, detail)
    [given] = stand.inputs()
    assert given["after"] == {"id": ["o-1", "$.detail.id"]}
    assert (given["event"]["id"], given["event"]["detail-type"], given["event"]["detail"]) == (
        identity,
        "Order",
        detail,
    )


@pytest.mark.aws(
    "EventBridge User Guide, Input transformation",
    "The full original event payload as JSON (with the detail field). Can only be used as a value for a JSON",
)
def test_the_whole_event_within_quotes_is_no_json(stand: Stand) -> None:
    quoted = transformer('{"event": "<aws.events.event.json>"}')
    stand.deploy(worker() + queue("Dead") + rule(f"{quoted}\n          {policy(0)}"))
    put(stand)
    [attributes] = stand.attributes("Dead")
    assert attributes["ERROR_CODE"] == "INVALID_JSON" and stand.inputs() == []


@pytest.mark.ours
def test_fault_of_an_interceptor_is_reported(stand: Stand) -> None:
    stand.deploy(worker() + rule("InputPath: $.detail.id"))

    def wrong(_delivery: Delivery) -> list[float]:
        raise AssertionError("the test is wrong")

    with stand.cloud.lose_events(wrong):
        put(stand)
        with pytest.raises(RuntimeError, match="a delivery failed by a fault"):
            stand.cloud.settle()
    put(stand, {"id": "o-2"})
    assert stand.inputs() == ["o-2"], "the next one is delivered"


@pytest.mark.ours
def test_redeployed_rule_is_made_again_and_a_removed_one_is_gone(stand: Stand) -> None:
    stand.deploy(worker() + rule("InputPath: $.detail.id"))
    stand.deploy(worker() + rule("InputPath: $.detail.open"))
    put(stand)
    assert stand.inputs() == [True]
    stand.deploy(worker())
    put(stand)
    assert stand.inputs() == [True]


@pytest.mark.aws(unconfirmed="V122")
def test_what_is_put_on_a_bus_that_is_not_there_is_accepted_and_forgotten(stand: Stand) -> None:
    """Reported: https://github.com/aws/aws-cli/issues/9186."""
    stand.deploy(worker() + rule(""))
    events = stand.cloud.client("events")
    entry = {"Source": "shop", "DetailType": "Order", "Detail": json.dumps(EVENT)}
    answer = events.put_events(Entries=[{**entry, "EventBusName": "not-there"}, entry])
    assert answer["FailedEntryCount"] == 0 and len({each["EventId"] for each in answer["Entries"]}) == 2
    assert [each["id"] for each in stand.inputs()] == [answer["Entries"][1]["EventId"]]
    with pytest.raises(events.exceptions.ResourceNotFoundException):
        events.describe_event_bus(Name="not-there")


@pytest.mark.ours
@pytest.mark.parametrize(
    "odd",
    [
        rule("", arn="arn:aws:sns:us-east-1:123456789012:topic"),
        rule("").replace("prefix: o-", 'wildcard: "o*-*-*-*-*"'),
        rule(transformer('{"rule": <aws.events.rule-name>}')),
        rule("InputPath: '$.detail[?(@.a)]'"),
    ],
)
def test_rule_that_the_local_cloud_does_not_run_is_left_out_and_told(stand: Stand, odd: str) -> None:
    stand.deploy(worker() + odd)
    assert list(left_out(stand.stack.resources)) == ["Rule (AWS::Events::Rule)"]
    assert stand.cloud.client("events").list_rules()["Rules"] == []


@pytest.mark.aws(
    recorded="LocalStack, test_events_patterns.snapshot.json, content_prefix_int_EXC, 15-10-2025",
    says="InvalidEventPatternException, Event pattern is not valid",
)
def test_a_deployment_names_the_rule_whose_pattern_aws_refuses(stand: Stand) -> None:
    with pytest.raises(
        TemplateError, match=r"Rule: AWS would refuse the rule: the pattern at detail\.id .*prefix takes"
    ):
        stand.deploy(worker() + rule("").replace("prefix: o-", "prefix: 1"))
