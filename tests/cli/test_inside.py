"""Operators name the stack of their application; Once's is found inside of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from oncekit.cli.deployed.session import Place
from oncekit.cli.deployed.stack import NEEDED, Stack, connect, once_in
from oncekit.cli.doctor.finding import resources_of

ARN = "arn:aws:cloudformation:eu-west-1:123456789012:stack"


def described(name: str, *outputs: str) -> tuple[str, dict[str, Any], dict[str, Any]]:
    told = [{"OutputKey": each, "OutputValue": f"{name}.{each}"} for each in outputs]
    stack = {"StackName": name, "StackId": f"{ARN}/{name}/1", "StackStatus": "CREATE_COMPLETE", "Outputs": told}
    return "describe_stacks", {"Stacks": [{**stack, "CreationTime": "2026-01-01"}]}, {"StackName": name}


def listed(name: str, *inside: str) -> tuple[str, dict[str, Any], dict[str, Any]]:
    rows = [("AWS::SQS::Queue", "queue"), *(("AWS::CloudFormation::Stack", f"{ARN}/{each}/1") for each in inside)]
    summaries = [
        {
            "LogicalResourceId": "X",
            "PhysicalResourceId": physical,
            "ResourceType": kind,
            "ResourceStatus": "CREATE_COMPLETE",
            "LastUpdatedTimestamp": "2026-01-01",
        }
        for kind, physical in rows
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


def test_the_stack_of_once_is_found_two_stacks_deep(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    stack = found(
        described("shop", "Bus"),
        listed("shop", "shop-Mail", "shop-Once"),
        described("shop-Mail"),
        listed("shop-Mail"),
        described("shop-Once", "StartedStateMachineArn"),
        listed("shop-Once", "shop-Once-Machine"),
        described("shop-Once-Machine", *NEEDED),
    )
    assert (stack.name, stack.table) == ("shop-Once-Machine", "shop-Once-Machine.TableName")


def test_the_doctor_sees_the_resources_of_all_stacks_inside_and_once_among_them() -> None:
    """So dead-letter queues that `once new` made in the application are looked at, too."""
    answers = [
        *(listed("shop", "shop-Once"), listed("shop-Once")),
        *(described("shop"), listed("shop", "shop-Once"), described("shop-Once", *NEEDED)),
    ]
    with answering(*answers) as session:
        named = Stack("shop", {}, {}, session)
        queues = [each for each in resources_of(named) if each.type == "AWS::SQS::Queue"]
        inner = once_in(named)
    assert len(queues) == 2 and inner is not None and inner.table == "shop-Once.TableName"
