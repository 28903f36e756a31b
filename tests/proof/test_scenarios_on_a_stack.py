"""Scenarios as `make e2e` runs them, in a process, against the stack of `once up` in another, in real time.

All of them in the fast lane, some in the full one. Nothing else here can be asked whether anything of the run is left
in the stack, so the tests look for themselves: it was empty before.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import boto3
import pytest
from copies import copy_project
from once_up import once_up
from signing import keys

ROOT = Path(__file__).parents[2]
MOST_DOLLARS = 1
VISIBILITY = "VisibilityTimeout: 60"
"""Of the request queue, in seconds: five of them until a message is a dead letter."""


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, str]]:
    """The environment of a client of `once up`, which serves a copy of the project."""
    folder = copy_project(tmp_path_factory.mktemp("up"), changed=())
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


def run_of(up: Mapping[str, str], *options: str) -> str:
    """What a run of scenarios prints; they passed, cost less than was said before, and everything was taken away."""
    done = subprocess.run(command(*options), cwd=ROOT, env=up, capture_output=True, text=True, timeout=900, check=False)
    printed = done.stdout
    assert done.returncode == 0, printed
    began = re.search(r"^(e2e-[0-9a-f]{8}): \d+ scenarios in the stack once \(Stage dev\)", printed, re.MULTILINE)
    assert began, printed
    run_id = began[1]
    announced = re.search(r"(\d+) scenarios in.*costs at most \$([0-9.]+)", printed, re.DOTALL)
    spent = re.search(rf"{run_id}: \d+ executions, \d+ transitions, at most \$([0-9.]+)", printed)
    assert announced and spent, printed
    assert 0 < float(spent[1]) < float(announced[2]) < MOST_DOLLARS
    assert f"{announced[1]} passed" in printed and "skipped" not in printed
    assert f"{run_id}: cleaned up" in printed
    assert_empty(up)
    return printed


def alike(text: str) -> set[str]:
    """The lines, with every number and id alike."""
    return {re.sub(r"\d[\d.:]*", "n", re.sub(r"e2e-[0-9a-f]{8}", "e2e", line)) for line in text.splitlines()}


def test_every_scenario_holds_and_leaves_nothing_behind(up: Mapping[str, str]) -> None:
    printed = run_of(up, "--lane", "fast")
    [shown] = re.findall(r"\$ make e2e STACK=[^\n]*\n(.*?)```", (ROOT / "docs/deploy.md").read_text(), re.DOTALL)
    lines = alike("\n".join(line for line in shown.splitlines() if line != "..." and "passed in" not in line))
    assert lines <= alike(printed)


def test_scenarios_hold_in_the_full_lane(up: Mapping[str, str]) -> None:
    run_of(up, "--lane", "full", "-k", "ten_requests or declined_card or acknowledged or nothing_to_do")


def test_interrupted_run_leaves_nothing_behind(up: Mapping[str, str]) -> None:
    machine = outputs_of(up)["StateMachineArn"]
    at_work = command("--lane", "full", "-k", "stopped_owner_that_must_not_run_again or acknowledged")
    process = subprocess.Popen(at_work, cwd=ROOT, env=up, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    printed = ""
    for line in process.stdout:
        printed += line
        if "PASSED" in line:
            break
    end = time.monotonic() + 60
    while not running(up, machine):  # a signal between two scenarios would strike pytest itself
        assert time.monotonic() < end and process.poll() is None, printed
    process.send_signal(signal.SIGTERM)
    printed += process.stdout.read()
    assert process.wait(120) == 2, printed
    assert "KeyboardInterrupt" in printed
    assert_empty(up)
