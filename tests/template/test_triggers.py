"""Rules for what starts executions: rules, schedule, queue and pipe, and where that ends which could not be started."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from template_parts import resolver

from oncekit.local.events.patterns import matches
from oncekit.local.templates.template import load

TEMPLATE = Path(__file__).parents[2] / "template.yaml"
Resources = dict[str, dict[str, Any]]


EVENTS = [
    ("", "com.shop", "OperationRequested", True),
    ("", "com.shop", "OrderPlaced", False),
    ("com.shop", "com.shop.orders", "OperationRequested", True),
    ("com.shop", "com.other", "OperationRequested", False),
    ("com.shop", "com.shop", "OrderPlaced", False),
]


@pytest.mark.parametrize(("asked", "source", "kind", "starts"), EVENTS)
def test_an_event_that_requests_an_operation_is_told_by_its_type_and_source(
    asked: str, source: str, kind: str, starts: bool
) -> None:
    template = load(TEMPLATE, {"EventSource": asked})
    pattern = resolver(template).resolve(template.section("Resources")["RequestRule"]["Properties"]["EventPattern"])
    assert matches(pattern, {"source": source, "detail-type": kind, "detail": {}}) is starts


DENIED = [f"{each}Policy" for each in ("RequestQueue", "RequestDeadLetterQueue", "AnnouncementDeadLetterQueue")]
FROM_A_RULE = {"EventDeadLetterQueue": "RequestRule"}


def statements(resources: Resources, policy: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = resources[policy]["Properties"]["PolicyDocument"]["Statement"]
    return found


@pytest.mark.parametrize("policy", DENIED)
def test_no_policy_of_a_queue_lets_anybody_in(resources: Resources, policy: str) -> None:
    assert {each["Effect"] for each in statements(resources, policy)} == {"Deny"}


@pytest.mark.parametrize(("queue", "rule"), FROM_A_RULE.items())
def test_dead_letters_come_from_the_rule_and_nobody_else(resources: Resources, queue: str, rule: str) -> None:
    [allowed] = [each for each in statements(resources, f"{queue}Policy") if each["Effect"] == "Allow"]
    assert allowed["Principal"] == {"Service": "events.amazonaws.com"}
    assert allowed["Action"] == "sqs:SendMessage"
    assert allowed["Condition"] == {"ArnEquals": {"aws:SourceArn": {"Fn::GetAtt": [rule, "Arn"]}}}


def test_only_this_account_sends_and_receives_requests(resources: Resources) -> None:
    _, refused = statements(resources, "RequestQueuePolicy")
    assert (refused["Effect"], refused["Principal"]) == ("Deny", "*")
    assert set(refused["Action"]) == {"sqs:SendMessage", "sqs:ReceiveMessage", "sqs:DeleteMessage"}
    assert refused["Condition"] == {"StringNotEquals": {"aws:PrincipalAccount": {"Ref": "AWS::AccountId"}}}
