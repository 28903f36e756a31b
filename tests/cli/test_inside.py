"""Operators name the stack of their application; Once's is found inside of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from oncekit.contract.own_stack import MADE
from oncekit.problem import Problem
from oncekit.stack.health.finding import resources_of
from oncekit.stack.session import Place
from oncekit.stack.stack import Stack, connect, once_in

ARN = "arn:aws:cloudformation:eu-west-1:123456789012:stack"


def described(name: str, *outputs: str, of: str = "") -> tuple[str, dict[str, Any], dict[str, Any]]:
    """Outputs that name resources of the stack itself, or of another."""
    told = [{"OutputKey": each, "OutputValue": f"{of or name}.{MADE[each]}"} for each in outputs]
    stack = {"StackName": name, "StackId": f"{ARN}/{name}/1", "StackStatus": "CREATE_COMPLETE", "Outputs": told}
    return "describe_stacks", {"Stacks": [{**stack, "CreationTime": "2026-01-01"}]}, {"StackName": name}


def listed(name: str, *resources: str, **inside: str) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """With a queue, resources by their logical ids, and the stacks inside by theirs."""
    rows = [("AWS::SQS::Queue", "Queue", "queue")]
    rows += [("AWS::SQS::Queue", each, f"{name}.{each}") for each in resources]
    rows += [("AWS::CloudFormation::Stack", each, f"{ARN}/{stack}/1") for each, stack in inside.items()]
    summaries = [
        {
            "LogicalResourceId": logical_id,
            "PhysicalResourceId": physical,
            "ResourceType": kind,
            "ResourceStatus": "CREATE_COMPLETE",
            "LastUpdatedTimestamp": "2026-01-01",
        }
        for kind, logical_id, physical in rows
    ]
    return "list_stack_resources", {"StackResourceSummaries": summaries}, {"StackName": name}


@contextmanager
def answering(*answers: tuple[str, dict[str, Any], dict[str, Any]]) -> Iterator[Any]:
    """A session whose CloudFormation gives these answers, each once."""
    client = boto3.client("cloudformation", region_name="eu-west-1", aws_access_key_id="x", aws_secret_access_key="x")
    with Stubber(client) as stubber:
        for action, answer, given in answers:
            stubber.add_response(action, answer, given)
        yield SimpleNamespace(client=lambda *_, **__: client)
        stubber.assert_no_pending_responses()


def found(*answers: tuple[str, dict[str, Any], dict[str, Any]]) -> Stack:
    with answering(*answers) as session:
        return connect(Place("shop"), open_session=lambda _: session)


@pytest.fixture(autouse=True)
def on_aws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)


def test_the_stack_of_once_is_found_two_stacks_deep() -> None:
    """Where `once init` puts it, whatever else the application has under the names of Once's."""
    stack = found(
        listed("shop", *MADE.values(), Mail="shop-Mail", Once="shop-Once"),
        listed("shop-Once", *MADE.values(), Machine="shop-Once-Machine"),
        listed("shop-Once-Machine", *MADE.values(), Operating="shop-Once-Machine-Operating"),
        described("shop-Once-Machine", *MADE),
    )
    assert (stack.name, stack.table) == ("shop-Once-Machine", "shop-Once-Machine.IdempotencyTable")


def test_outputs_of_the_application_by_the_names_of_onces_are_no_stack_of_once() -> None:
    """Also where somebody has put Once elsewhere: there its outputs name what is in the same stack."""
    stack = found(
        listed("shop", *MADE.values(), Mail="shop-Mail", Payments="shop-Payments"),
        described("shop", *MADE, of="shop-Payments"),
        listed("shop-Mail", *MADE.values()),
        described("shop-Mail"),
        listed("shop-Payments", *MADE.values()),
        described("shop-Payments", *MADE),
    )
    assert stack.table == "shop-Payments.IdempotencyTable"


def test_a_stack_that_is_once_itself_is_asked_alone() -> None:
    alone = listed("shop", *MADE.values(), Operating="shop-Operating"), described("shop", *MADE)
    assert found(*alone).name == "shop"


def test_a_stack_without_once_is_told() -> None:
    with pytest.raises(Problem, match="shop is not a stack of Once, and has none inside; give --stack"):
        found(listed("shop", *MADE.values()), described("shop", *MADE, of="another"))


def test_the_doctor_sees_the_resources_of_all_stacks_inside_and_once_among_them() -> None:
    """So dead-letter queues that `once new` made in the application are looked at, too."""
    whole = listed("shop", Once="shop-Once"), listed("shop-Once", *MADE.values())
    with answering(*whole, *whole, described("shop-Once", *MADE)) as session:
        named = Stack("shop", {}, {}, session)
        queues = [each for each in resources_of(named) if each.name == "Queue"]
        inner = once_in(named)
    assert len(queues) == 2 and inner is not None and inner.table == "shop-Once.IdempotencyTable"
