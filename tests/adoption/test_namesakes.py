"""An application whose outputs, parameters and resources are called as Once's are: each keeps what is its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from adoption.conftest import ROOT, Application
from once_up import once_up

from oncekit.local.templates.template import parse

WRITES_ANEW = """
import os, uuid, boto3

def handler(event, context):
    boto3.client("dynamodb").put_item(TableName=os.environ["TABLE"], Item={"id": {"S": str(uuid.uuid4())}})
    return "done"
"""
MADE = {
    "AWS::DynamoDB::Table": {
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    },
    "AWS::S3::Bucket": {},
    "AWS::SQS::Queue": {},
    "AWS::Events::EventBus": {"Name": "theirs"},
    "AWS::Serverless::Function": {
        "CodeUri": "code",
        "Handler": "app.handler",
        "Runtime": "python3.13",
        "Environment": {"Variables": {"TABLE": {"Ref": "IdempotencyTable"}}},
        "Policies": [{"DynamoDBCrudPolicy": {"TableName": {"Ref": "IdempotencyTable"}}}],
    },
}
"""What an application has of its own under the names of Once's."""
ONCE = [sys.executable, "-c", "from oncekit.cli.main import main; main()"]
MACHINES = ("OperationStateMachine", "FastStateMachine", "RecoveryStateMachine")


def namesakes() -> dict[str, Any]:
    """A template with every name that the template of Once has."""
    ours = parse((ROOT / "template.yaml").read_text(), ROOT / "template.yaml")
    resources = {
        name: {"Type": each["Type"], "Properties": MADE[each["Type"]]}
        for name, each in ours["Resources"].items()
        if each["Type"] in MADE
    }
    machine = {"DefinitionUri": "own.asl.json", "Role": "arn:aws:iam::123456789012:role/theirs"}
    resources |= {name: {"Type": "AWS::Serverless::StateMachine", "Properties": machine} for name in MACHINES}
    refs = {
        "StateMachineArn": "OperationStateMachine",
        "FastStateMachineArn": "FastStateMachine",
        "TableName": "IdempotencyTable",
        "ResponseBucketName": "ResponseBucket",
    }
    return {
        "Transform": "AWS::Serverless-2016-10-31",
        "Parameters": {name: {"Type": "String", "Default": "fast"} for name in ours["Parameters"]},
        "Resources": resources,
        "Outputs": {name: {"Value": {"Ref": refs[name]} if name in refs else "theirs"} for name in ours["Outputs"]},
    }


def write(folder: Path, template: dict[str, Any], code: str = WRITES_ANEW) -> None:
    (folder / "code").mkdir()
    (folder / "code" / "app.py").write_text(code)
    states = {"StartAt": "End", "States": {"End": {"Type": "Succeed"}}}
    (folder / "own.asl.json").write_text(json.dumps(states))
    (folder / "template.yaml").write_text(yaml.safe_dump(json.loads(json.dumps(template))))  # without aliases


@pytest.fixture
def adopted(empty: Application) -> Application:
    """As `once init` and `once new` leave it."""
    folder = empty.folder
    (folder / "code").mkdir()
    (folder / "code" / "app.py").write_text(WRITES_ANEW)
    (folder / "own.asl.json").write_text('{"StartAt": "End", "States": {"End": {"Type": "Succeed"}}}')
    (folder / "template.yaml").write_text(yaml.safe_dump(json.loads(json.dumps(namesakes()))))  # without aliases
    (folder / "sample.json").write_text('{"id": 1}')
    for command in (["init"], ["new", "work", "--function", "CacheResponseFunction", "--example", "sample.json"]):
        assert (done := empty.once(*command)).code == 0, done.err
    return empty


def once(application: Application, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """In a process of its own, which may have a cloud of its own."""
    given = {**os.environ, **environment}
    command = [*ONCE, *arguments]
    return subprocess.run(command, cwd=application.folder, capture_output=True, text=True, timeout=120, env=given)


def test_once_run_and_the_test_kit_use_what_is_onces_own(adopted: Application) -> None:
    done = once(adopted, "run", "events/work.json", "--times", "2", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert [each["disposition"] for each in told["executions"]] == ["EXECUTED", "REPLAYED"]
    assert {each["lane"] for each in told["executions"]} == {"full"}, "its own parameter Lane is another one"
    assert told["sideEffects"]["tables"]["IdempotencyTable"] == 1, "its own table of the name"

    tests = adopted.pytest("tests/test_work.py")
    assert "1 failed, 1 passed" in tests.stdout, tests.stdout + tests.stderr
    assert "twice" in tests.stdout and "IdempotencyTable" in tests.stdout, "the matrix looks into its own table"


def test_commands_for_a_stack_use_what_is_onces_own(adopted: Application, tmp_path: Path) -> None:
    with once_up(adopted.folder, tmp_path) as up:
        sent = once(adopted, "send", "events/work.json", "--wait", **up.given)
        assert sent.returncode == 0, sent.stderr
        told = json.loads(once(adopted, "show", "default#work#work-1", "--json", **up.given).stdout)
        assert (told["record"]["status"], told["execution"]["status"]) == ("COMPLETED", "SUCCEEDED")
        assert (done := once(adopted, "doctor", **up.given)).returncode == 0, done.stdout + done.stderr
