"""Scenarios as `make e2e` runs them: in one process, against a stack in another, in real time.

The stack is that of `once up`. Nothing else here can be asked whether anything of the run is left in it, so the tests
look for themselves: it was empty before. Some scenarios run in each test run, all of them in the proof.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3
import pytest
from copies import copy_project
from once_up import once_up
from signing import keys

ROOT = Path(__file__).parents[1]
VISIBILITY = "VisibilityTimeout: 60"
"""Of the request queue, in seconds: five of them until a message is a dead letter."""


@contextmanager
def stack_up(folder: Path) -> Iterator[Mapping[str, str]]:
    """The environment of a client of `once up`, which serves from this folder."""
    copy_project(folder, changed=())
    template = (ROOT / "template.yaml").read_text()
    assert VISIBILITY in template
    (folder / "template.yaml").write_text(template.replace(VISIBILITY, VISIBILITY.replace("60", "1")))
    with once_up(folder, folder, "--parameter", "Operations=e2e=once-e2e:live") as up:
        yield {**os.environ, **up.given}


def command(*options: str) -> list[str]:
    """As the Makefile has it."""
    options = ("tests/scenarios", "-v", "--backend=aws", "--stack", "once", "-p", "no:cacheprovider", *options)
    return [sys.executable, "-m", "pytest", *options]


def client(up: Mapping[str, str], service: str) -> Any:
    return boto3.client(service, endpoint_url=up["AWS_ENDPOINT_URL"], **keys(up))  # type: ignore[call-overload]


def outputs_of(up: Mapping[str, str]) -> dict[str, str]:
    [stack] = client(up, "cloudformation").describe_stacks(StackName="once")["Stacks"]
    return {each["OutputKey"]: each["OutputValue"] for each in stack["Outputs"]}


def running(up: Mapping[str, str], machine: str) -> list[Any]:
    found = client(up, "stepfunctions").list_executions(stateMachineArn=machine, statusFilter="RUNNING")["executions"]
    return list(found)


def assert_empty(up: Mapping[str, str]) -> None:
    outputs = outputs_of(up)
    tables = client(up, "dynamodb")
    left = {name: tables.scan(TableName=name)["Items"] for name in tables.list_tables()["TableNames"]}
    assert len(left) == 4 and not any(left.values()), left
    assert "Contents" not in client(up, "s3").list_objects_v2(Bucket=outputs["ResponseBucketName"])
    counts = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    for output in ("RequestQueueUrl", "RequestDeadLetterQueueUrl", "EventDeadLetterQueueUrl"):
        answer = client(up, "sqs").get_queue_attributes(QueueUrl=outputs[output], AttributeNames=counts)
        assert set(answer["Attributes"].values()) == {"0"}, output
    assert not running(up, outputs["StateMachineArn"])
    functions = client(up, "lambda")
    with pytest.raises(functions.exceptions.ResourceNotFoundException):
        functions.get_function_configuration(FunctionName="once-e2e")


def run_id_of(printed: str) -> str:
    found = re.search(r"^(e2e-[0-9a-f]{8}): \d+ scenarios in the stack once \(Stage dev\)", printed, re.MULTILINE)
    assert found, printed
    return found[1]


def assert_told(printed: str, most_dollars: float) -> None:
    """That a run of all its scenarios passed, cost less than was said before, and took everything away."""
    run_id = run_id_of(printed)
    announced = re.search(r"(\d+) scenarios in.*costs at most \$([0-9.]+)", printed, re.DOTALL)
    spent = re.search(rf"{run_id}: \d+ executions, \d+ transitions, at most \$([0-9.]+)", printed)
    assert announced and spent, printed
    assert 0 < float(spent[1]) < float(announced[2]) < most_dollars
    assert f"{announced[1]} passed" in printed
    assert "skipped" not in printed
    assert f"{run_id}: cleaned up" in printed
