"""The gate lets the project pass, and refuses each fault in a small application with a line that names the state."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from oncekit.gate.__main__ import findings, main

ROOT = Path(__file__).parents[2]
APPLICATION = Path(__file__).with_name("application")
REFUSED = "DynamoDB.ConditionalCheckFailedException"
SENT = """  Sent:
    Type: Task
    Resource: arn:aws:states:::{}
    TimeoutSeconds: 10
    Output: {{}}
    Catch: [{{ ErrorEquals: [{}], Next: Done }}]
    Next: Done
"""
BROKEN = {
    # errors
    "the prefix of the SDK integration in an optimized one": (
        f"[{REFUSED}], Next: Refused",
        f"[{REFUSED.replace('DB', 'Db')}], Next: Refused",
        "AcquireLock: Catch.0: no error of dynamodb:updateItem is called DynamoDb.ConditionalCheckFailedException, so "
        "this never matches; is it DynamoDB.",
    ),
    "an exception of another service": (
        "DynamoDB.ThrottlingException",
        "Lambda.ServiceException",
        "Finalize: Retry.1: no error of dynamodb:updateItem is called Lambda.ServiceException",
    ),
    "an exception that the library does not raise": (
        "[PermanentError,",
        "[PermanentErrors,",
        "Work: Catch.0: no error of lambda:invoke is called PermanentErrors, so this never matches; "
        "is it PermanentError?",
    ),
    "an error of Step Functions that does not exist": (
        "States.ALL",
        "States.All",
        "AcquireLock: Retry.1: no error of dynamodb:updateItem is called States.All",
    ),
    "an error of the API for which the optimized integration has no name of its own": (
        "DynamoDB.ThrottlingException",
        "DynamoDB.ValidationException",
        "Finalize: Retry.1: no error of dynamodb:updateItem is called DynamoDB.ValidationException, so this never "
        "matches; is it DynamoDB.AmazonDynamoDBException?",
    ),
    "the name that the optimized integration has for such an error, in the SDK integration": (
        "  Done: {",
        f"{SENT.format('aws-sdk:dynamodb:putItem', 'DynamoDb.AmazonDynamoDBException')}  Done: {{",
        "Sent: Catch.0: no error of aws-sdk:dynamodb:putItem is called DynamoDb.AmazonDynamoDBException",
    ),
    "an integration whose errors nobody has told the gate": (
        "lambda:invoke",
        "glue:startJobRun",
        "Work: the gate does not know what glue raises",
    ),
    "a name that is taken, which AWS may spell otherwise": (
        "StepFunctions.ExecutionAlreadyExistsException,",
        "",
        "Tell: Catch.0: AWS may spell it in other ways, and each is a success; add "
        "StepFunctions.ExecutionAlreadyExistsException",
    ),
    # expressions
    "an operator of a later JSONata": (
        "$states.input.key, '-'",
        "$states.input.key ?? '', '-'",
        "Receive: Choices.0.Assign.parts: AWS's JSONata, 2.0.6, does not parse it",
    ),
    "a function that nobody knows": (
        "$split(",
        "$cut(",
        "Receive: Choices.0.Assign.parts: AWS's JSONata has no function",
    ),
    "the result of a task in its arguments": (
        "$states.context.Execution.Input",
        "$states.result.Input",
        "Work: Arguments.Payload: $states.result is only for Assign and Output of Task, Map and Parallel",
    ),
    "the result of a state that has none": (
        'own: "{% $fence',
        'own: "{% $states.result',
        "One: Assign.own: $states.result is only for",
    ),
    "an error outside of a catch": (
        'Cause: "{% $failure',
        'Cause: "{% $states.errorOutput.Error',
        "Failed: Cause: $states.errorOutput is there only in Assign and Output of a Catch",
    ),
    "a member that $states does not have": (
        "$states.context.Execution.Input",
        "$states.contxt.Execution.Input",
        "Work: Arguments.Payload: $states has no member contxt",
    ),
    "an expression inside of a longer string": (
        '"{% $all %}"',
        '" {% $all %}"',
        "Done: Output: AWS takes an expression inside of a longer string for text",
    ),
    # retries
    "a full lane that gives up while it lives": (
        "MaxAttempts: 99999999",
        "MaxAttempts: 200",
        "AcquireLock: gives up after 200 retries, which last 7.7 h on average, while its execution lives for 24 h",
    ),
    "a full lane whose waits grow beyond all numbers": (
        "BackoffRate: 1.4",
        "BackoffRate: 10",
        "AcquireLock: the BackoffRate to the power of some 57",
    ),
    "a full lane whose retries are more than a history takes": (
        "MaxDelaySeconds: 300",
        "MaxDelaySeconds: 10",
        "AcquireLock: some 17",
    ),
    "a retry of what a catch names": (
        f"[{REFUSED}], Next: Refused",
        f"[States.DataLimitExceeded, {REFUSED}], Next: Refused",
        "AcquireLock: retries States.ALL before its Catch of States.DataLimitExceeded is asked",
    ),
    # outputs
    "a raw answer that goes on": ("Output: {}", "Comment: raw", "AcquireLock: has no Output"),
    # timeouts
    "a task that ends with its function": (
        "TimeoutSeconds: \"{% $number('${BusinessTimeoutSeconds}') + 5 %}\"",
        "TimeoutSeconds: \"{% $number('${BusinessTimeoutSeconds}') %}\"",
        "Work: its task ends after 1 s and WorkFunction after 1 s",
    ),
    "a task that is long enough only by default": (
        "TimeoutSeconds: \"{% $number('${BusinessTimeoutSeconds}') + 5 %}\"",
        "TimeoutSeconds: 60",
        "Work: its task ends after 60 s and WorkFunction after 840 s",
    ),
    "a lease that is over while its owner works": (
        " + 5 + $number('${LeaseMarginSeconds}')",
        " + 5 + 0 * $number('${LeaseMarginSeconds}')",
        "AcquireLock: the lease of 6 s is over before Work ends after 6 s",
    ),
    "a lease of the fast lane that is over while its owner may live": (
        "$max([",
        "$min([",
        "AcquireLock: the lease of 66 s can end before an Express execution and its function do",
    ),
    "a lease that only a run can tell": (
        "$max([",
        "$number($fence) + $max([",
        "AcquireLock: {% $string($number($fence)",
    ),
    "a task without a timeout": ("TimeoutSeconds: 10", "Comment: ten", "AcquireLock: has no TimeoutSeconds"),
    "an execution that is over before its lease": (
        "ExecutionSeconds: 86400",
        "ExecutionSeconds: 60",
        "AcquireLock: the lease of 66 s outlives the execution's 60 s",
    ),
    "a fast lane that wants more time than there is": (
        "ExecutionSeconds: 295",
        "ExecutionSeconds: 301",
        "AWS ends an Express execution at 300 s",
    ),
    # variables
    "a variable that nothing assigns": (
        "$string($fence)",
        "$string($fense)",
        "Finalize: Arguments.ExpressionAttributeValues.:mine.N: $fense is not assigned on every way here",
    ),
    "a variable that a catch does not assign": (
        "Assign: { failure:",
        "Output: { failure:",
        "Failed: Cause: $failure is not assigned on every way here",
    ),
    "a use before the question whether it is there": (
        "$exists($key) ? $key : 'it has no key'",
        "$key",
        "Refused: Cause: $key is not assigned on every way here",
    ),
    "an inner state that assigns a variable from outside of its Map": (
        "Assign: { own:",
        "Assign: { fence: 2, own:",
        "One: assigns $fence, a variable from outside of its Map",
    ),
    "a variable of an inner state that is used after its Map": (
        'Output: "{% $all %}"',
        'Output: "{% $own %}"',
        "Done: Output: $own is not assigned on every way here",
    ),
    "what a Map assigns inside of it": (
        "$own + $fence",
        "$own + $all",
        "Last: Output: $all is not assigned on every way here",
    ),
    # writes
    "a write without a condition": (
        'ConditionExpression: "#owner',
        'Comment: "#owner',
        "Finalize: writes without a Con",
    ),
    "a condition without the fence": (
        "fence = :mine AND ",
        "",
        "Finalize: its condition does not name fence",
    ),
    "a condition without owner and status": (
        '"#owner = :me AND fence = :mine AND #status = :inProgress"',
        "fence = :mine",
        "Finalize: its condition does not name status, owner",
    ),
    "a refused write that is asked for again": (
        f"- {{ ErrorEquals: [{REFUSED}], MaxAttempts: 0 }}\n      - {{ ErrorEquals: [States.ALL]",
        "- { ErrorEquals: [States.ALL]",
        "AcquireLock: retries a refused write",
    ),
    "a refused write that is asked for again by its own clause": (
        f"[{REFUSED}], MaxAttempts: 0",
        f"[{REFUSED}], MaxAttempts: 2",
        "AcquireLock: retries a refused write",
    ),
    "a refused write that has no way of its own": (
        f"[{REFUSED}], Next: Refused",
        "[DynamoDB.ThrottlingException], Next: Refused",
        f"AcquireLock: has no Catch for {REFUSED}",
    ),
}


def with_fault(folder: Path, text: str, by: str) -> Path:
    """The small application with its first `text` replaced; gives the template's path."""
    for file in APPLICATION.iterdir():
        shutil.copy(file, folder)
    [file] = [file for file in folder.iterdir() if text in file.read_text()]
    file.write_text(file.read_text().replace(text, by, 1))
    return folder / "template.yaml"


@pytest.mark.parametrize("template", [ROOT / "template.yaml", APPLICATION / "template.yaml"], ids=["project", "small"])
def test_what_has_no_fault_has_no_finding(template: Path) -> None:
    assert [str(each) for each in findings(template)] == []


@pytest.mark.parametrize(
    ("resource", "error"),
    [
        ("dynamodb:getItem", "DynamoDB.AmazonDynamoDBException"),
        ("sqs:sendMessage", "SQS.AmazonSQSException"),
        ("events:putEvents", "EventBridge.FailedEntry"),
    ],
)
def test_an_optimized_integration_may_raise_what_aws_recorded_of_it(resource: str, error: str, tmp_path: Path) -> None:
    template = with_fault(tmp_path, "  Done: {", f"{SENT.format(resource, error)}  Done: {{")
    assert [str(each) for each in findings(template)] == []


@pytest.mark.parametrize("fault", BROKEN)
def test_a_fault_is_refused_by_the_state_that_has_it(fault: str, tmp_path: Path) -> None:
    text, by, told = BROKEN[fault]
    found = [str(each) for each in findings(with_fault(tmp_path, text, by))]
    assert any(line.startswith(f"machine.asl.yaml: {told}") for line in found), found


def test_the_command_prints_a_line_for_each_finding_and_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with_fault(tmp_path, *BROKEN["a task without a timeout"][:2])
    monkeypatch.chdir(tmp_path)
    assert main() == 1
    assert "AcquireLock: has no TimeoutSeconds" in capsys.readouterr().out
