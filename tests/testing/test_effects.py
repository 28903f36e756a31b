"""What counts as a difference between a usual run and another one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from oncekit.testing.effects import Document, Usual, documents
from oncekit.testing.watch import FunctionCall

FIRST: dict[str, Any] = {"id": "1", "sold": 6, "attempt": 1, "at": "2026-01-01T00:00:00Z", "number": "x1"}
AGAIN = {**FIRST, "at": "2026-02-02T00:00:00Z", "number": "x2"}
SECOND_ATTEMPT = {**AGAIN, "attempt": 2, "number": "x3"}


def differences(*items: dict[str, Any], second: dict[str, Any] = SECOND_ATTEMPT) -> list[tuple[str, str]]:
    runs = [[Document.of("Orders", each)] for each in (FIRST, AGAIN, second)]
    before = [Document.of("Orders", {"id": "1", "sold": 5})]
    found = Usual(runs, before).differences([Document.of("Orders", each) for each in items])
    return [(each.kind, each.what) for each in found]


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ([FIRST], []),
        ([{**FIRST, "attempt": 3, "at": "2027-01-01T00:00:00Z", "number": "x9"}], []),
        ([FIRST, {**FIRST, "id": "2"}], [("twice", "2 instead of 1")]),
        ([], [("lost", "0 instead of 1")]),
        ([{**FIRST, "sold": 7}], [("twice", "sold is 7, not 6")]),
        ([{**FIRST, "sold": 5}], [("lost", "sold is 5, not 6")]),
        ([{**FIRST, "by": ["a"]}], [("twice", "by[0] is a, not absent")]),
        ([{**FIRST, "id": "other"}], [("differs", "id is other, not 1")]),
    ],
)
def test_a_run_is_compared_with_what_is_usual(items: list[dict[str, Any]], expected: list[tuple[str, str]]) -> None:
    assert differences(*items) == expected


def test_another_amount_to_a_provider_is_no_second_charge() -> None:
    runs = [[Document.of("POST https://provider.example", {"amount": 10})]] * 3
    (found,) = Usual(runs, []).differences([Document.of("POST https://provider.example", {"amount": 20})])
    assert (found.kind, found.what) == ("differs", "amount is 20, not 10")


def test_what_only_a_second_attempt_adds_is_no_habit() -> None:
    assert differences({**FIRST, "sold": 7}, second={**SECOND_ATTEMPT, "sold": 7}) == [("twice", "sold is 7, not 6")]


# ---- messages ----

QUEUE = "https://sqs.us-east-1.amazonaws.com/123456789012/requests"
MAIL = {"QueueUrl": "https://sqs.us-east-1.amazonaws.com/123456789012/mail", "MessageBody": "sold"}


def sent(service: str, action: str, *parameters: dict[str, Any], done: bool = True) -> int:
    """How many messages count of calls with these parameters."""
    calls = [FunctionCall("f", 1, service, action, each, "", "", True, ()) for each in parameters]
    watch = SimpleNamespace(calls=[(call, done) for call in calls])
    entrances = {"RequestQueue": QUEUE, "RequestBus": "Requests", "FastStateMachine": "arn:fast"}
    machines = {"OperationStateMachine": "arn:full"}
    once = SimpleNamespace(ref=(entrances | machines).get)
    cloud: Any = SimpleNamespace(watch=watch, resources={}, once=once, outside=SimpleNamespace(sent=[]))
    return sum(each.place == f"{service}.{action}" for each in documents(cloud))


def test_each_message_counts_unless_it_is_refused_or_only_asks() -> None:
    assert sent("sqs", "send_message", MAIL, MAIL) == 2
    assert sent("sqs", "send_message", MAIL, done=False) == sent("sqs", "receive_message", MAIL) == 0


@pytest.mark.parametrize(
    ("service", "action", "token"),
    [
        ("sqs", "send_message", "MessageDeduplicationId"),
        ("rds-data", "execute_statement", "ClientRequestToken"),
        ("ecs", "run_task", "ClientToken"),
        ("acm", "request_certificate", "IdempotencyToken"),
        ("stepfunctions", "start_execution", "name"),
    ],
)
def test_a_message_that_its_service_knows_again_counts_once(service: str, action: str, token: str) -> None:
    assert sent(service, action, {token: "a"}, {token: "a"}) == 1
    assert sent(service, action, {token: "a"}, {token: "b"}) == sent(service, action, {}, {}) == 2


@pytest.mark.parametrize(
    "request_to",
    [
        {"QueueUrl": QUEUE},
        {"EventBusName": "Requests"},
        {"stateMachineArn": "arn:full"},
        {"stateMachineArn": "arn:fast", "name": "another each time"},
    ],
)
def test_a_request_that_once_knows_again_counts_once(request_to: dict[str, Any]) -> None:
    request, other = {**request_to, "input": "one"}, {**request_to, "input": "other"}
    assert sent("any", "send", request, request) == 1
    assert sent("any", "send", request, other) == 2


@pytest.mark.parametrize(
    ("service", "action"),
    [
        ("cloudwatch", "put_metric_data"),
        ("logs", "put_log_events"),
        ("xray", "put_trace_segments"),
        ("sts", "assume_role"),
        ("kms", "decrypt"),
        ("ssm", "start_session"),
        ("firehose", "put_record"),
        ("appconfigdata", "start_configuration_session"),
    ],
)
def test_what_only_observes_is_no_effect(service: str, action: str) -> None:
    assert sent(service, action, {}) == 0


@pytest.mark.parametrize("service", ["dynamodb", "s3", "http", "function", "lambda"])
def test_what_is_seen_where_it_arrives_is_no_message(service: str) -> None:
    assert sent(service, "put", {}) == 0
