"""What is asked of a deployed stack, and of `once up` in its place."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from evidence.answering import Aws
from once_up import Up, once_up

from oncekit.evidence import __main__ as evidence
from oncekit.evidence.after import After
from oncekit.evidence.finding import GREEN, NOBODY, NOT_HERE, RED, Finding, NotLooked, Question, answer
from oncekit.evidence.latency import Function, latency_of, percentile
from oncekit.stack.stack import Stack

ROOT = Path(__file__).parents[2]
MACHINE = "arn:aws:states:us-east-1:123456789012:stateMachine:once-Operation"
NOW = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


@pytest.fixture
def aws() -> Aws:
    return Aws()


@pytest.fixture
def stack(aws: Aws) -> Stack:
    outputs = {
        "StateMachineArn": MACHINE,
        "ResponseBucketName": "bucket",
        "StateMachineAliasArn": f"{MACHINE}:live",
        "FastStateMachineArn": f"{MACHINE}Fast",
        "FastStateMachineAliasArn": f"{MACHINE}Fast:live",
    }
    return Stack("once", outputs, {}, aws, id="arn:aws:cloudformation:us-east-1:123456789012:stack/once/1")


def asked(aws: Aws, stack: Stack, row: str, **said: Any) -> Finding:
    """Of one row, to which TestState answers so."""
    of = "RecoveryRole" if row == "V90" else "OperationRole"
    role = {"LogicalResourceId": of, "PhysicalResourceId": "once-Role", "ResourceType": "AWS::IAM::Role"}
    listed = {**role, "ResourceStatus": "CREATE_COMPLETE", "LastUpdatedTimestamp": 0}
    aws.says("cloudformation", "list_stack_resources", {"StackResourceSummaries": [listed]})
    aws.says("stepfunctions", "test_state", said)
    [question] = [each for each in After(stack, ()).questions() if each.row == row]
    return answer(question, is_local=False)


@pytest.mark.parametrize(
    ("error", "verdict"), [("ExecutionDoesNotExistException", GREEN), ("ExecutionDoesNotExist", RED)]
)
def test_the_name_of_the_error_for_an_execution_that_is_not_there_is_asked(
    aws: Aws, stack: Stack, error: str, verdict: str
) -> None:
    found = asked(aws, stack, "V25", status="FAILED", error=f"Sfn.{error}", cause=f"{MACHINE} does not exist")
    assert found.verdict == verdict
    assert f"Sfn.{error}: arn:aws:states:us-east-1:ACCOUNT:" in found.seen
    [call] = aws.calls("TestState")
    assert call["roleArn"] == "arn:aws:iam::123456789012:role/once-Role"


def executions(*names: str) -> dict[str, Any]:
    one = {"stateMachineArn": MACHINE, "status": "SUCCEEDED", "startDate": NOW}
    arns = [MACHINE.replace("stateMachine", "execution") + f":{name}" for name in names]
    return {"executions": [{**one, "executionArn": arn, "name": arn[-1]} for arn in arns]}


@pytest.mark.parametrize(
    ("told", "verdict"), [({"Status": "RUNNING"}, GREEN), ({"Status": "RUNNING", "Input": 1}, RED)]
)
def test_an_execution_is_described_with_and_without_its_input(
    aws: Aws, stack: Stack, told: dict[str, Any], verdict: str
) -> None:
    aws.says("stepfunctions", "list_executions", executions("a"))
    assert asked(aws, stack, "V88", status="SUCCEEDED", output=json.dumps(told)).verdict == verdict


def test_an_integration_that_does_not_know_the_field_is_red(aws: Aws, stack: Stack) -> None:
    aws.says("stepfunctions", "list_executions", executions("a"))
    cause = "The field IncludedData is not supported"
    assert asked(aws, stack, "V88", status="FAILED", error="States.Runtime", cause=cause).verdict == RED


def test_a_stack_that_ran_nothing_yet_is_not_looked_at(aws: Aws, stack: Stack) -> None:
    aws.says("stepfunctions", "list_executions", executions())
    [question] = [each for each in After(stack, ()).questions() if each.row == "V88"]
    assert answer(question, is_local=False).verdict == NOBODY


@pytest.mark.parametrize(
    ("told", "verdict"),
    [
        ({"KeyCount": 1, "IsTruncated": True, "NextContinuationToken": "t"}, GREEN),
        ({"KeyCount": 1, "IsTruncated": True}, RED),
        ({"keyCount": 1}, RED),
        ({"KeyCount": 0, "IsTruncated": False}, NOBODY),
    ],
)
def test_a_page_of_refused_requests_has_what_the_sweep_counts_by(
    aws: Aws, stack: Stack, told: dict[str, Any], verdict: str
) -> None:
    assert asked(aws, stack, "V90", status="SUCCEEDED", output=json.dumps(told)).verdict == verdict


def test_a_call_that_the_role_does_not_allow_has_the_name_that_the_machines_know(aws: Aws, stack: Stack) -> None:
    found = asked(aws, stack, "V38", status="FAILED", error="Lambda.AWSLambdaException", cause="AccessDenied")
    assert found.verdict == GREEN


@pytest.mark.parametrize(
    ("code", "line", "verdict"),
    [
        (0, "✓ alarms       none of 20 rings", GREEN),
        (0, "- alarms       could not look: DescribeAlarms: AccessDenied: no", NOBODY),
        (1, "✗ alarms       DeadExecutions: it rings", RED),
    ],
)
def test_a_doctor_who_could_not_look_is_not_green(
    stack: Stack, monkeypatch: pytest.MonkeyPatch, code: int, line: str, verdict: str
) -> None:
    told = f"✓ stack        CREATE_COMPLETE\n{line}\n\nit ends so."
    monkeypatch.setattr("subprocess.run", lambda *_, **__: CompletedProcess([], code, told, ""))
    [question] = [each for each in After(stack, ()).questions() if each.row == "V10"]
    found = answer(question, is_local=False)
    assert found.verdict == verdict
    assert (line.partition(" ")[2].split()[0] in found.seen) is (verdict != GREEN)


# ---- how long it takes ----


def ended(seconds: float, **more: str) -> dict[str, Any]:
    at = {"startDate": NOW, "stopDate": NOW + datetime.timedelta(seconds=seconds)}
    return {"executionArn": MACHINE, "stateMachineArn": MACHINE, "status": "SUCCEEDED", **at, **more}


def test_each_lane_is_measured_by_aws_clock_cold_and_warm(aws: Aws, stack: Stack) -> None:
    for seconds in (2, 1, 3):
        aws.says("stepfunctions", "start_execution", {"executionArn": MACHINE, "startDate": NOW})
        aws.says("stepfunctions", "describe_execution", ended(seconds))
    for seconds in (0.9, 0.2, 0.4):
        aws.says("stepfunctions", "start_sync_execution", ended(seconds))
    told = [(each["lane"], each["start"], each["p50"], each["p99"]) for each in latency_of(stack, cold=1, warm=2)]
    assert told == [
        ("full", "cold", 2000, 2000),
        ("full", "warm", 1000, 3000),
        ("fast", "cold", 900, 900),
        ("fast", "warm", 200, 400),
    ]
    keys = [json.loads(each["input"])["idempotencyKey"] for each in aws.calls("StartSyncExecution")]
    assert len(set(keys)) == 3, "a duplicate is quicker"


def test_a_function_of_the_direct_lane_gets_its_event_with_a_new_key(aws: Aws, stack: Stack) -> None:
    for _ in range(2):
        aws.says("stepfunctions", "start_execution", {"executionArn": MACHINE, "startDate": NOW})
        aws.says("stepfunctions", "describe_execution", ended(1))
    for _ in range(2):
        aws.says("stepfunctions", "start_sync_execution", ended(1))
        aws.says("lambda", "invoke", {"StatusCode": 200})
    lanes = [each["lane"] for each in latency_of(stack, 1, 1, Function("f", '{"id": "KEY"}'))]
    assert lanes == ["full", "full", "fast", "fast", "direct", "direct"]
    first, second = (json.loads(each["Payload"])["id"] for each in aws.calls("Invoke"))
    assert first != second and "KEY" not in first


def test_a_request_that_fails_measures_nothing(aws: Aws, stack: Stack) -> None:
    aws.says("stepfunctions", "start_execution", {"executionArn": MACHINE, "startDate": NOW})
    aws.says("stepfunctions", "describe_execution", ended(1, status="FAILED", error="RequestRefused"))
    with pytest.raises(NotLooked, match="FAILED RequestRefused"):
        next(latency_of(stack, 1, 1))


@pytest.mark.parametrize(("share", "ms"), [(0.5, 50_000), (0.99, 99_000), (1, 100_000)])
def test_a_percentile_is_a_request_that_was_measured(share: float, ms: int) -> None:
    assert percentile(range(1, 101), share) == ms


# ---- once up ----


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    with once_up(ROOT, tmp_path_factory.mktemp("up")) as up:
        yield up


def test_nothing_that_once_up_answers_is_green(up: Up, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in up.given.items():
        monkeypatch.setenv(name, value)
    arguments = ["--stack", "once", "--to", str(tmp_path), "--cold", "2", "--warm", "2"]
    assert evidence.main(["after", *arguments, "--only", "questions", "--only", "latency", "--only", "states"]) == 0
    assert evidence.main(["before", *arguments]) == 0
    told = (tmp_path / "once-once-up.json").read_text()
    found = {each["row"]: each for each in json.loads(told)["findings"]}
    assert found["V10"]["verdict"] == NOBODY and "evaluates none of its" in found["V10"]["seen"]
    assert {each["verdict"] for row, each in found.items() if row != "V10"} == {NOT_HERE}
    assert {each["region"] for each in found.values()} == {"once up"}
    assert all(each["expected"] for each in found.values())
    lanes = {(each["lane"], each["start"], each["count"]) for each in json.loads(told)["latency"]}
    assert lanes == {(lane, start, 2) for lane in ("full", "fast") for start in ("cold", "warm")}
    assert "123456789012" not in told + (tmp_path / "once-once-up.md").read_text()


def test_a_stack_in_prod_is_left_alone(
    stack: Stack, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Any
) -> None:
    monkeypatch.setattr(evidence, "connect", lambda _: Stack("once", {}, {"Stage": "prod"}, None))
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    assert evidence.main(["after", "--to", str(tmp_path)]) == 2
    assert "PROD=yes" in capsys.readouterr().err


@pytest.mark.parametrize(
    "parameters",
    [{"Examples": "no", "Operations": "charge-payment=shop"}, {"Examples": "yes", "Operations": "place-order=shop"}],
)
def test_a_function_that_is_no_example_gets_no_request(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, parameters: dict[str, str]
) -> None:
    monkeypatch.setattr(evidence, "connect", lambda _: Stack("once", {}, parameters, None))
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    evidence.main(["after", "--to", str(tmp_path), "--only", "scenarios", "--only", "latency"])
    found = json.loads((tmp_path / "once-us-east-1.json").read_text())["findings"]
    assert {(each["row"], each["verdict"]) for each in found} == {("scenarios", NOBODY), ("latency", NOBODY)}
    assert all("Examples=yes" in each["seen"] for each in found)


def test_credentials_that_are_over_end_it(
    aws: Aws, stack: Stack, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Any
) -> None:
    aws.refuses("stepfunctions", "list_executions", "ExpiredTokenException")
    monkeypatch.setattr(evidence, "connect", lambda _: stack)
    monkeypatch.setattr(evidence, "After", lambda *_: Only(stack, ()))
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    assert evidence.main(["after", "--to", str(tmp_path), "--only", "questions"]) == 2
    assert "log in again" in capsys.readouterr().err


class Only(After):
    """One question of them."""

    def questions(self) -> Iterator[Question]:
        return (each for each in super().questions() if each.row == "V88")
