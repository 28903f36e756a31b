"""`once history`: each state of an execution, and `once send --wait`."""

from __future__ import annotations

import json

import pytest
from botocore.exceptions import ClientError
from operating import ID, Operator, put

from oncekit.local.faults import fails

STATES = ["ReceiveRequest", "AcquireLock", "ExecuteBusinessLogic", "IsResponseLarge", "Finalize"]


def test_history_has_each_state_with_its_time_input_and_output(operator: Operator) -> None:
    ended = operator.cloud.run(operator.request())
    told = operator.once("history", ID, "--json").answer
    assert (told["execution"], told["status"]) == (ended.arn, "SUCCEEDED")
    assert [each["state"] for each in told["states"]] == STATES
    first, *_, last = told["states"]
    assert json.loads(first["input"]) == operator.request()
    assert json.loads(last["output"])["disposition"] == "EXECUTED"
    assert told["startedAt"] <= first["enteredAt"] <= first["exitedAt"] <= last["exitedAt"] <= told["endedAt"]
    shown = operator.once("history", ended.arn)
    assert [line.split()[1] for line in shown.out.splitlines()[1:] if not line.startswith(" ")] == STATES


def test_history_says_which_state_failed_and_why(operator: Operator) -> None:
    operator.script({"raise": "NeedsAttention"})
    with operator.cloud.intercept(fails("ThrottlingException", state="AcquireLock")):
        operator.quarantined()
    states = {each["state"]: each for each in operator.once("history", ID, "--json").answer["states"]}
    assert [each["error"] for each in states["AcquireLock"]["errors"]] == ["DynamoDB.ThrottlingException"]
    assert [each["error"] for each in states["ExecuteBusinessLogic"]["errors"]] == ["NeedsAttention"]
    assert states["NeedsAttention"]["errors"][0]["error"] == "NeedsAttention"
    assert "    error   DynamoDB.ThrottlingException" in operator.once("history", ID).out


def test_history_says_which_state_could_not_evaluate_its_expressions_also_when_that_was_caught(
    operator: Operator,
) -> None:
    text = json.dumps(operator.request() | {"onCrash": "never", "payload": {"a": 0}}).replace(": 0", ": 1e400")
    arn = operator.cloud.client("stepfunctions").start_execution(
        stateMachineArn=operator.cloud.outputs["StateMachineArn"], input=text
    )["executionArn"]
    operator.cloud.wait(arn)
    states = operator.once("history", arn, "--json").answer["states"]
    [caught] = [each for each in states if each["state"] == "RefuseRequest" and each["errors"]]
    assert caught["errors"][0]["error"] == "States.QueryEvaluationError" and caught["errors"][0]["cause"]


def test_history_shows_where_a_redrive_began(operator: Operator) -> None:
    dead = operator.died_in("Finalize")
    operator.redriven(dead.arn)
    states = [each["state"] for each in operator.once("history", dead.arn, "--json").answer["states"]]
    assert states == [*STATES, "ExecutionRedriven", "Finalize"]


def test_history_of_an_owner_that_was_never_this_ids_is_not_shown(operator: Operator) -> None:
    other = operator.cloud.run(operator.request() | {"idempotencyKey": "other"})
    put(operator, ID, "QUARANTINED", 5, owner={"S": other.arn})
    done = operator.once("history", ID)
    assert done.code == 2 and "another request" in done.err and done.out == ""


@pytest.mark.parametrize("about", ["arn:aws:states:us-east-1:123456789012:execution:Other:x", "{own}:gone"])
def test_history_of_what_is_not_there_is_a_line(operator: Operator, about: str) -> None:
    own = operator.cloud.outputs["StateMachineArn"].replace(":stateMachine:", ":execution:")
    done = operator.once("history", about.format(own=own))
    assert done.code == 2 and len(done.err.splitlines()) == 1


# ---- send --wait ----


@pytest.fixture(autouse=True)
def no_real_pauses(operator: Operator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between looks the cloud does what there is to do."""
    monkeypatch.setattr("oncekit.cli.deployed.waiting.time.sleep", lambda _: operator.cloud.settle())


def sent(operator: Operator, *options: str) -> list[str]:
    event = operator.file(json.dumps(operator.request()), "event.json")
    return ["send", event, "--wait", *options]


def test_send_waits_for_the_end_and_shows_the_result(operator: Operator) -> None:
    done = operator.once(*sent(operator))
    assert (done.code, done.out.splitlines()[-1].split()) == (0, ["✓", "EXECUTED", "7"])
    again = operator.once(*sent(operator, "--json")).answer
    assert [(each["outcome"], each["result"]) for each in again["ended"]] == [("REPLAYED", 7)]


def test_send_waits_also_for_what_aws_does_not_describe_yet(operator: Operator) -> None:
    def unknown() -> None:
        raise ClientError({"Error": {"Code": "ExecutionDoesNotExist", "Message": "not yet"}}, "DescribeExecution")

    operator.before("DescribeExecution", unknown)
    assert operator.once(*sent(operator)).code == 0


@pytest.mark.parametrize("via", ["sqs", "eventbridge"])
def test_send_waits_for_the_record_where_nobody_is_told_the_execution(operator: Operator, via: str) -> None:
    with operator.cloud.delivering():
        done = operator.once(*sent(operator, "--via", via))
    assert (done.code, done.out.splitlines()[-1].split()) == (0, ["✓", "COMPLETED", "7"])


def test_send_ends_with_the_code_of_what_it_waited_for(operator: Operator) -> None:
    operator.script({"raise": "PermanentError"})
    failed = operator.once(*sent(operator))
    assert failed.code == 1 and "OperationFailed" in failed.out and "PermanentError: " in failed.out
    other = operator.file(json.dumps(operator.request() | {"payload": {"b": 1}}))
    assert operator.once("send", other, "--wait").code == 3, "PayloadMismatch"


def test_send_does_not_wait_for_ever(operator: Operator, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("oncekit.cli.deployed.waiting.time.sleep", pauses.append)
    with operator.holding("ExecuteBusinessLogic"):
        done = operator.once(*sent(operator, "--timeout", "20"))
    assert done.code == 3 and "still without an end after 20 s" in done.err
    assert 20 <= sum(pauses) < 26


def test_send_does_not_wait_for_what_is_surely_refused(operator: Operator) -> None:
    event = operator.file("{}", "event.json")
    assert operator.once("send", event, "--via", "sqs", "--wait").code == 2
