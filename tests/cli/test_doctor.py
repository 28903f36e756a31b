"""`once doctor`: one page of answers, each with the next command, on the local cloud."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, ClassVar

import pytest
from botocore.exceptions import ClientError
from commands import KeptSession, Sessions
from logged import logged
from operating import FUNCTION, ID, Operator, put

from oncekit.local import Execution, LocalCloud
from oncekit.stack.stack import Stack

GONE = "ResourceNotFoundException"
QUESTIONS = [
    *("stack", "machines", "functions", "alarms"),
    *("open", "overdue", "quarantined", "stopped", "rejected", "dead-letters"),
]


Answer = Any


class Watched(Operator):
    """An operator whose calls are heard, and some of which are answered otherwise, or refused."""

    answers: ClassVar[dict[str, Callable[[Answer], object]]] = {}
    """By call what is done to its answer."""
    called: ClassVar[list[str]] = []

    @classmethod
    def _stand_between(cls, session: KeptSession) -> None:
        session.events.register("before-call", lambda model, **_: cls.called.append(model.name))
        session.events.register("after-call", lambda model, parsed, **_: cls._answered(model.name, parsed))

    @classmethod
    def _answered(cls, call: str, answer: Answer) -> None:
        if call in cls.answers:
            cls.answers[call](answer)

    def described(self, **as_: Any) -> None:
        """DescribeStacks says so."""
        self.answers["DescribeStacks"] = lambda answer: answer["Stacks"][0].update(as_)

    def refuse(self, call: str, code: str) -> None:
        def refuse(_: Answer) -> None:
            raise ClientError({"Error": {"Code": code, "Message": "no\nway"}}, call)

        self.answers[call] = refuse


Watched._sessions = Sessions(Watched._stand_between)


@pytest.fixture
def operator(cloud: LocalCloud, latches_folder: Path) -> Watched:
    Watched.answers.clear()
    Watched.called.clear()
    watched = Watched(cloud, latches_folder)
    for operation in {*cloud.operations.named} - {"charge-payment", "place-order", "build-report", "told"}:
        cloud.add_function(operation, FUNCTION)  # other tests named it
    return watched


def found(operator: Watched, *options: str) -> dict[str, tuple[str, str]]:
    """By question and resource the message and the advice of what is not fine."""
    done = operator.once("doctor", "--json", *options)
    checks = done.answer["checks"]
    outcomes = [each["outcome"] for each in checks]
    assert (done.answer["wrong"], done.answer["warnings"]) == (outcomes.count("wrong"), outcomes.count("warning"))
    assert done.code == (1 if done.answer["wrong"] else 0)
    bad = [each for each in checks if each["outcome"] in ("wrong", "warning")]
    assert all(each["message"] and each["advice"] for each in bad), bad
    assert not [each for each in bad if each["advice"].count("`") % 2], "a command is between two backticks"
    well = {each["name"] for each in checks if each["outcome"] == "ok"}
    # All functions that are named may be fine, and an open operation have none.
    assert not well & {each["name"] for each in bad} - {"functions"}, "what is not fine is not said to be fine, too"
    return {f"{each['outcome']}: {each['name']}, {each['resource']}": (each["message"], each["advice"]) for each in bad}


# ---- a healthy stack ----


def test_healthy_stack_has_an_answer_to_each_question_and_nothing_wrong(operator: Watched) -> None:
    done = operator.once("doctor")
    assert (done.code, done.err) == (0, "")
    answers = done.out.splitlines()
    assert [line.split()[1] for line in answers[:-2]] == QUESTIONS
    assert {line[0] for line in answers[:-2] if " alarms " not in line} == {"✓"}
    assert answers[-1].startswith("Nothing wrong, 0 warnings")
    assert "CREATE_COMPLETE" in answers[0] and "Lane is full" in answers[1]
    assert re.search("✓ functions .*charge-payment.*CacheResponseFunction can be invoked\n", done.out)
    assert found(operator) == {}


def test_alarms_are_not_said_to_be_silent_where_nobody_evaluates_them(
    operator: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = operator.once("doctor").out
    assert re.search(r"^- alarms +the local cloud evaluates none of its \d+ alarms$", out, re.MULTILINE)
    assert out.endswith("Nothing wrong, 0 warnings, 1 not looked at.\n")
    monkeypatch.setattr(Stack, "is_local", False)
    assert re.search(r"^✓ alarms +none of \d+ rings$", operator.once("doctor").out, re.MULTILINE)


def test_it_only_reads(operator: Watched) -> None:
    put(operator, "acme#charge-payment#a", "QUARANTINED", 1)
    operator.once("doctor")
    assert len(set(operator.called)) > 8
    reads = re.compile(r"(Get|List|Describe|Query|BatchGet|Filter)\w*")
    assert [call for call in operator.called if not reads.fullmatch(call)] == []


# ---- the stack, its machines and its functions ----


@pytest.mark.parametrize(
    ("status", "outcome", "advice"),
    [
        ("UPDATE_FAILED", "wrong", "deploy again"),
        ("ROLLBACK_COMPLETE", "wrong", "delete it"),
        ("UPDATE_ROLLBACK_FAILED", "wrong", "continue-update-rollback"),
        ("UPDATE_IN_PROGRESS", "warning", "wait until that has ended"),
    ],
)
def test_a_deployment_that_has_not_ended_well_is_said(
    operator: Watched, status: str, outcome: str, advice: str
) -> None:
    operator.described(StackStatus=status)
    [(name, (message, told))] = found(operator).items()
    assert name == f"{outcome}: stack, once" and status in message and advice in told


def test_stack_whose_first_deployment_failed_is_diagnosed(operator: Watched) -> None:
    operator.described(StackStatus="ROLLBACK_COMPLETE", Outputs=[])
    assert list(found(operator)) == ["wrong: stack, once"]


def test_stack_of_something_else_is_refused(operator: Watched) -> None:
    operator.described(Outputs=[])
    done = operator.once("doctor")
    assert (done.code, done.out) == (2, "") and "not a stack of Once" in done.err
    operator.answers.clear()
    done = operator.once("doctor", "--stack", "other")
    assert (done.code, done.out) == (2, "") and "there is no stack other" in done.err


def test_an_output_that_is_missing_is_said(operator: Watched) -> None:
    outputs = operator.outputs.items()
    operator.described(Outputs=[{"OutputKey": k, "OutputValue": v} for k, v in outputs if k != "FastStateMachineArn"])
    [(name, (message, advice))] = found(operator).items()
    assert name == "wrong: machines, FastStateMachine" and "FastStateMachineArn" in message and "sam deploy" in advice


@pytest.mark.parametrize("call", ["DescribeStateMachine", "DescribeStateMachineAlias"])
def test_machine_that_somebody_deleted_is_wrong(operator: Watched, call: str) -> None:
    operator.refuse(call, "StateMachineDoesNotExist")
    machines = {"DescribeStateMachine": ["", "Fast", "Recovery"], "DescribeStateMachineAlias": ["", "Fast"]}
    complaints = found(operator)
    assert list(complaints) == [f"wrong: machines, {each}StateMachine" for each in machines[call]]
    message, advice = complaints["wrong: machines, StateMachine"]
    assert "StateMachineDoesNotExist" in message and "detect-stack-drift" in advice


def test_function_that_nobody_can_invoke_is_wrong(operator: Watched) -> None:
    operator.answers["GetFunctionConfiguration"] = lambda answer: answer.update(State="Failed", StateReason="no layer")
    assert found(operator)["wrong: functions, charge-payment"][0] == "it cannot be invoked: no layer"
    operator.answers["GetFunctionConcurrency"] = lambda answer: answer.update(ReservedConcurrentExecutions=0)
    del operator.answers["GetFunctionConfiguration"]
    message, advice = found(operator)["wrong: functions, charge-payment"]
    assert "never started" in message
    assert advice == "`aws lambda delete-function-concurrency --function-name once_op-charge-payment`"


def test_function_that_takes_the_lock_and_gets_the_payload_alone_is_wrong(operator: Watched) -> None:
    operator.answers["GetFunctionConfiguration"] = lambda answer: answer["Environment"]["Variables"].update(
        ONCE_PARAMETER="/once/shop/direct"
    )
    assert not found(operator)
    with operator.cloud.deployed_with({"PayloadOnlyOperations": "told, place-order"}):
        message, advice = found(operator)["wrong: functions, place-order"]
    assert "takes the lock itself" in message and "out of the parameter PayloadOnlyOperations" in advice


def test_function_that_is_not_there_is_wrong(operator: Watched) -> None:
    operator.refuse("GetFunctionConfiguration", GONE)
    message, advice = found(operator)["wrong: functions, charge-payment"]
    assert "there is no once_op-charge-payment:live" in message
    assert "AutoPublishAlias: live" in advice and "`once retry ID`" in advice


def test_open_operation_without_a_function_is_wrong(operator: Watched) -> None:
    put(operator, "acme#not-there#now", "IN_PROGRESS", int(operator.cloud.clock.now()) + 60)
    [(about, (message, _))] = found(operator).items()
    assert about == "wrong: functions, not-there" and "the operation has no function" in message


# ---- alarms ----


def test_alarm_that_rings_says_what_to_do(operator: Watched) -> None:
    resources, watch = operator.cloud.deployed.resources, operator.cloud.client("cloudwatch")
    alarm = resources["QuarantinedOperationsAlarm"]
    for name in (alarm.ref, "of-another-stack"):
        watch.put_metric_alarm(AlarmName=name, **{**alarm.properties, "Threshold": 0.0})
    try:
        watch.set_alarm_state(AlarmName="of-another-stack", StateValue="ALARM", StateReason="another's")
        assert found(operator) == {}
        watch.set_alarm_state(AlarmName=alarm.ref, StateValue="ALARM", StateReason="2 of them")
        [(about, (message, advice))] = found(operator).items()
    finally:
        watch.delete_alarms(AlarmNames=[alarm.ref, "of-another-stack"])
    assert about == "wrong: alarms, QuarantinedOperationsAlarm" and message.endswith("2 of them")
    assert "`once ls --status QUARANTINED`" in advice


# ---- what waits ----


def test_quarantined_operations_are_wrong(operator: Watched) -> None:
    error = {"M": {"name": {"S": "Runtime.ExitError"}, "message": {"S": "exit status 1"}}}
    for key in ("a", "b"):
        put(operator, f"acme#charge-payment#{key}", "QUARANTINED", 1, error=error)
    out = operator.once("doctor").out
    assert "✗ quarantined" in out and ": 2 wait for an operator: 2 × Runtime.ExitError\n" in out
    assert "`once ls --status QUARANTINED` names them" in out and "1 wrong, 0 warnings" in out


def test_what_is_pending_is_not_stuck_until_it_has_run_out(operator: Watched) -> None:
    operator.pending(seconds=7200)
    out = operator.once("doctor").out
    assert "1 in progress, 1 of them pending: they wait for work elsewhere, the last until 20" in out
    assert found(operator) == {}
    operator.cloud.clock.advance(7300)  # type: ignore[attr-defined]
    [(about, (message, _))] = found(operator).items()
    assert about.startswith("warning: overdue") and "1 of them because work elsewhere did not end them in" in message


@pytest.mark.parametrize(("since", "outcome"), [(300, "warning"), (301, "wrong")])
def test_overdue_operation_is_wrong_once_recovery_had_its_time(operator: Watched, since: int, outcome: str) -> None:
    put(operator, "acme#charge-payment#late", "IN_PROGRESS", int(operator.cloud.clock.now()) - since)
    [(about, (_, advice))] = found(operator).items()
    assert about.startswith(f"{outcome}: overdue") and "`once ls --overdue`" in advice


@pytest.mark.parametrize(
    ("queue", "next_command"),
    [
        ("EventDeadLetterQueue", "`once send EVENT`"),
        ("RequestDeadLetterQueue", "`aws sqs start-message-move-task --source-arn arn:"),
    ],
)
def test_message_that_waits_for_somebody_is_wrong_also_while_one_looks_at_it(
    operator: Watched, queue: str, next_command: str
) -> None:
    sqs, url = operator.cloud.client("sqs"), operator.cloud.resources[queue]
    sqs.send_message(QueueUrl=url, MessageBody="{}")
    assert sqs.receive_message(QueueUrl=url)["Messages"]
    [(about, (message, advice))] = found(operator).items()
    assert about == f"wrong: dead-letters, {queue}" and message.startswith("1 ") and next_command in advice


def test_ends_that_were_not_announced_are_wrong_and_nothing_is_to_be_moved_back(operator: Watched) -> None:
    with operator.cloud.deployed_with({"Announcements": "default"}):
        url = operator.cloud.outputs["AnnouncementDeadLetterQueueUrl"]
        operator.cloud.client("sqs").send_message(QueueUrl=url, MessageBody="{}")
        [(about, (_, advice))] = found(operator).items()
    assert about == "wrong: dead-letters, AnnouncementDeadLetterQueue"
    assert "announce those ends again (Once's docs/announcements.md)" in advice and "move" not in advice


@pytest.mark.parametrize(
    ("told", "says"),
    [
        ({"State": "Disabled", "StateTransitionReason": "USER_INITIATED"}, "Disabled: USER_INITIATED"),
        ({"LastProcessingResult": "PROBLEM: Connection error"}, "PROBLEM: Connection error"),
    ],
)
def test_a_stream_that_lambda_does_not_read_is_wrong_for_no_alarm_rings(
    operator: Watched, told: dict[str, str], says: str
) -> None:
    with operator.cloud.deployed_with({"Announcements": "default"}):
        assert found(operator) == {}
        assert "✓ announced" in operator.once("doctor").out
        operator.answers["ListEventSourceMappings"] = lambda answer: answer["EventSourceMappings"][0].update(told)
        [(about, (message, advice))] = found(operator).items()
        assert about == "wrong: announced, EndMapping" and says in message
        assert "`aws lambda get-event-source-mapping --uuid " in advice and "docs/announcements.md" in advice
        operator.answers["ListEventSourceMappings"] = lambda answer: answer["EventSourceMappings"].clear()
        [(_, (message, advice))] = found(operator).items()
        assert "not there" in message and "detect-stack-drift" in advice


# ---- what died ----


DEADLY = '{"operation": "told", "idempotencyKey": "k", "payload": {"n": {"_jsonata_lambda": true}}}'
"""An execution of the full lane dies of it at its first look."""


def lost(operator: Watched, key: str = "lost") -> Execution:
    """An execution that somebody stops before it has a lock."""
    with operator.cloud.intercept(operator._stopping("AcquireLock")):
        return operator.cloud.run(operator.request() | {"idempotencyKey": key})


def test_request_that_was_stopped_before_it_had_a_lock_is_named_with_how_to_send_it(operator: Watched) -> None:
    operator.died_in("Finalize")
    operator.once("release", "default#told#k", "--yes")
    stopped = lost(operator)
    [(about, (_, advice))] = found(operator).items()
    assert about == "warning: stopped, default#told#lost"
    assert f"describe-execution --query input --output text --execution-arn {stopped.arn}` piped into" in advice
    operator.cloud.run(operator.request() | {"idempotencyKey": "lost"})
    assert found(operator) == {}


def test_request_that_died_while_an_operation_was_pending_that_then_failed_is_answered_by_that(
    operator: Watched,
) -> None:
    operator.pending()
    operator.cloud.clock.advance(60)  # type: ignore[attr-defined]
    with operator.cloud.intercept(operator._stopping("AcquireLock")):
        operator.cloud.run(operator.request())
    operator.cloud.clock.advance(60)  # type: ignore[attr-defined]
    operator.end_by_ticket(failed="no")
    assert found(operator) == {}


def test_request_whose_execution_died_of_an_error_of_aws_is_named_with_that_error(operator: Watched) -> None:
    died = operator.cloud.run(DEADLY)
    [(about, (message, advice))] = found(operator).items()
    assert about == f"warning: stopped, {ID}" and f"FAILED ({died.error}) before it had a lock: {died.arn}" in message
    shows = re.search(r"`once (show arn:\S+)`", advice)
    assert shows and operator.once(*shows[1].split()).code == 0
    # Nothing can be corrected in a pipe.
    assert f"--execution-arn {died.arn} > request.json`" in advice and "`once send request.json`" in advice
    assert "piped" not in advice


def test_execution_that_ended_by_itself_is_not_named_though_its_record_is_gone(operator: Watched) -> None:
    operator.script({"raise": "PermanentError"})
    assert operator.cloud.run(operator.request()).error == "OperationFailed"
    operator.client("dynamodb").delete_item(TableName=operator.outputs["TableName"], Key={"id": {"S": ID}})
    assert found(operator) == {}


def test_execution_that_had_a_lock_is_not_named_though_its_released_record_is_gone(operator: Watched) -> None:
    """What an operator stopped and released is not to be sent again; DynamoDB has deleted what expired."""
    operator.died_in("Finalize")
    operator.client("dynamodb").delete_item(TableName=operator.outputs["TableName"], Key={"id": {"S": ID}})
    assert found(operator) == {}


def in_log(operator: Watched, lane: str, *ended: tuple[str, str, str | None]) -> AbstractContextManager[None]:
    """A machine's log with an event for each: its type, the execution, and the error."""
    lines = [
        json.dumps({"type": type, "execution_arn": arn, "details": {"error": error} if error else {}})
        for type, arn, error in ended
    ]
    return logged(operator, list(enumerate(lines)), "log", f"/aws/vendedlogs/states/once-{lane}")


OWN_ENDS = ["InvalidRequest", "PayloadMismatch", "OperationInProgress", "OperationFailed", "NeedsAttention", "LockLost"]
ENDS: list[tuple[str, str | None, str]] = [
    ("ABORTED", None, "ABORTED before it had a lock"),
    ("TIMED_OUT", None, "TIMED_OUT before it had a lock"),
    ("TIMED_OUT", "States.Timeout", "TIMED_OUT (States.Timeout) before it had a lock"),
    ("FAILED", "States.Runtime", "FAILED (States.Runtime) before it had a lock"),
    ("FAILED", "DynamoDB.ThrottlingException", "FAILED (DynamoDB.ThrottlingException) before it had a lock"),
    *(("FAILED", each, "") for each in OWN_ENDS),
    ("FAILED", None, ""),
    ("SUCCEEDED", None, ""),
    ("RUNNING", None, ""),
]


@pytest.mark.parametrize(("status", "error", "told"), ENDS)
def test_an_execution_of_the_full_lane_is_named_where_its_end_is_not_its_machines_own(
    operator: Watched, status: str, error: str | None, told: str
) -> None:
    stopped = lost(operator)
    end = {"status": status, **({"error": error} if error else {})}
    operator.answers["DescribeExecution"] = lambda answer: answer.update(end)
    complaints = found(operator)
    assert list(complaints) == (["warning: stopped, default#told#lost"] if told else [])
    assert all(message == f"{told}: {stopped.arn}" for message, _ in complaints.values())


def test_request_whose_time_was_over_before_it_had_a_lock_is_named(operator: Watched) -> None:
    def for_days(call: Any, proceed: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        if call.state != "AcquireLock":
            return proceed()
        operator.cloud.clock.advance(3 * 86_400)  # type: ignore[attr-defined]  # it is virtual
        raise ConnectionError

    with operator.cloud.intercept(for_days):
        late = operator.cloud.run(operator.request())
    [(about, (message, _))] = found(operator).items()
    assert about == f"warning: stopped, {ID}" and message == f"TIMED_OUT before it had a lock: {late.arn}"


@pytest.mark.parametrize(("script", "later"), [({"raise": "PermanentError"}, 1), ({"return": 1}, 31 * 86_400)])
def test_a_request_that_died_behind_a_failure_or_an_expired_record_is_named_too(
    operator: Watched, script: dict[str, Any], later: int
) -> None:
    operator.script(script)
    operator.cloud.run(operator.request())
    operator.cloud.clock.advance(later)  # type: ignore[attr-defined]  # it is virtual

    def stops(call: Any, proceed: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        if call.state == "AcquireLock":
            operator.client("stepfunctions").stop_execution(executionArn=call.execution_arn)
            raise ConnectionError
        return proceed()

    with operator.cloud.intercept(stops):
        operator.cloud.run({**operator.request(), "onFailed": "retry"})
    assert list(found(operator)) == [f"warning: stopped, {ID}"]


@pytest.mark.parametrize("age", [7 * 86_400 - 1, 7 * 86_400 + 1])
def test_executions_are_looked_at_for_seven_days(operator: Watched, age: int) -> None:
    lost(operator)
    operator.cloud.clock.advance(age)  # type: ignore[attr-defined]  # it is virtual
    assert bool(found(operator)) is (age < 7 * 86_400)


def test_an_execution_that_the_sweep_started_is_not_named_for_the_next_sweep_starts_another(
    operator: Watched,
) -> None:
    operator.died_in("Finalize")
    operator.lease_over()
    with operator.cloud.intercept(operator._stopping("AcquireLock")):
        operator.sweep()
    assert any(":recover-" in arn and status == "ABORTED" for arn, status in operator.executions().items())
    operator.client("dynamodb").delete_item(TableName=operator.outputs["TableName"], Key={"id": {"S": ID}})
    assert found(operator) == {}


DIED_FAST = [
    ("ExecutionFailed", "States.Runtime", "1 × States.Runtime"),
    ("ExecutionTimedOut", None, "1 × TIMED_OUT"),
    ("ExecutionAborted", None, "1 × ABORTED"),
    *(("ExecutionFailed", each, "") for each in OWN_ENDS),
    ("ExecutionFailed", None, ""),
    ("ExecutionSucceeded", None, ""),
    ("ExecutionStarted", None, ""),
]


@pytest.mark.parametrize(("type", "error", "told"), DIED_FAST)
def test_an_execution_of_the_fast_lane_is_counted_where_its_end_is_not_its_machines_own(
    operator: Watched, type: str, error: str | None, told: str
) -> None:
    with in_log(operator, "fast", (type, "arn:1", error)):
        complaints = found(operator)
    assert list(complaints) == (["warning: stopped, /aws/vendedlogs/states/once-fast"] if told else [])
    assert all(f": {told}; the last one: arn:1" in message for message, _ in complaints.values())


def test_what_died_in_the_fast_lane_is_told_as_its_log_has_it(operator: Watched) -> None:
    ended = (
        ("ExecutionFailed", "arn:1", "DynamoDB.ResourceNotFoundException"),
        ("ExecutionFailed", "arn:2", "OperationFailed"),
        ("ExecutionTimedOut", "arn:3", None),
    )
    with in_log(operator, "fast", *ended):
        [(about, (message, advice))] = found(operator).items()
    assert about == "warning: stopped, /aws/vendedlogs/states/once-fast"
    assert message.startswith("2 died in the fast lane") and message.endswith("the last one: arn:3")
    assert "1 × DynamoDB.ResourceNotFoundException, 1 × TIMED_OUT" in message and "send them again" in advice


@pytest.fixture
def on_aws(operator: Watched, monkeypatch: pytest.MonkeyPatch) -> Iterator[Watched]:
    """A stack whose machines write logs, as they do on AWS."""
    monkeypatch.setattr(Stack, "is_local", False)
    with in_log(operator, "operation"), in_log(operator, "fast", ("ExecutionTimedOut", "arn:1", None)):
        yield operator


def test_a_log_that_is_off_is_not_searched_and_that_is_said(on_aws: Watched) -> None:
    given = {**on_aws.cloud.parameters, "ExecutionLog": "OFF"}
    on_aws.described(Parameters=[{"ParameterKey": name, "ParameterValue": each} for name, each in given.items()])
    done = on_aws.once("doctor")
    assert done.code == 0 and re.search(r"- stopped +its log is off \(ExecutionLog\)\n", done.out), done.out
    assert "died in the fast lane" not in done.out


def test_a_log_that_is_too_long_is_searched_in_part_and_that_is_said(on_aws: Watched) -> None:
    assert "not looked at" not in on_aws.once("doctor").out
    pages = itertools.count()
    on_aws.answers["FilterLogEvents"] = lambda answer: answer.update(nextToken=f"page-{next(pages)}")
    out = on_aws.once("doctor").out
    assert re.search("- stopped +its log has more than was searched: the saved log query `failures` shows", out), out
    assert "died in the fast lane" in out and "1 not looked at" in out


def test_what_is_not_among_the_newest_is_found_by_the_log_and_a_cut_is_said(
    operator: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("oncekit.stack.health.dead.MOST", 1)
    died = operator.cloud.run(DEADLY)
    operator.refuse_requests("a", "b")
    only = "only the newest 1 of each status were looked at: the saved log query `failures` shows all"
    assert only in operator.once("doctor").out
    with in_log(operator, "operation", ("ExecutionFailed", died.arn, died.error)):
        out = operator.once("doctor").out
        assert only not in out and f"FAILED ({died.error}) before it had a lock: {died.arn}" in out
        for key in ("first", "second"):
            lost(operator, key)
        assert only in operator.once("doctor").out


# ---- what Once did not write ----


def test_an_open_record_that_once_did_not_write_is_a_warning(operator: Watched) -> None:
    put(operator, "acme#charge-payment#odd", "IN_PROGRESS", 1, fence={"S": "1"})
    done = operator.once("doctor", "--json")
    [odd] = [each for each in done.answer["checks"] if each["outcome"] == "warning"]
    assert (odd["name"], odd["resource"], done.err) == ("open", "acme#charge-payment#odd", "")
    assert "not in the form that Once writes" in odd["message"] and "aws dynamodb get-item" in odd["advice"]


# ---- what was refused ----


def test_refused_requests_are_a_warning_until_they_are_started_or_deleted_as_it_says(operator: Watched) -> None:
    operator.refuse_requests("a")
    operator.keep_refused("x", "Unavailable", input=operator.request())
    [(about, (message, advice))] = found(operator).items()
    assert about == f"warning: rejected, {operator.outputs['ResponseBucketName']}"
    assert message == "2 refused and kept, the oldest since 2025-01-01T00:00:00Z"
    lists, *ends = re.findall("`once (.+?)`", advice)
    assert lists == "ls --rejected" and "--error InvalidRequest" in operator.once(*lists.split()).out
    alarm = operator.cloud.deployed.resources["RejectedRequestsLeftAlarm"].properties["AlarmDescription"]
    for command in ends:
        assert f"`once {command}`" in alarm
        operator.once(*command.replace("NAME", "InvalidRequest --yes").split())
    operator.cloud.settle()
    assert found(operator) == {}


def test_a_folder_that_somebody_made_in_the_bucket_is_no_refused_request(operator: Watched) -> None:
    operator.put_object("rejected/", b"")
    assert found(operator) == {}


# ---- what cannot be looked at ----


def test_missing_permission_is_named_and_the_others_go_on(operator: Watched) -> None:
    operator.refuse("DescribeAlarms", "AccessDenied")
    put(operator, "acme#charge-payment#a", "QUARANTINED", 1)
    out = operator.once("doctor").out
    assert re.search("- alarms +could not look: DescribeAlarms: AccessDenied: no way\n", out) and "✗ quarantined" in out


def test_table_that_is_gone_is_wrong(operator: Watched) -> None:
    operator.refuse("Query", GONE)
    [(about, (message, advice))] = found(operator).items()
    assert about == "wrong: open, once" and GONE in message and "detect-stack-drift" in advice


@pytest.mark.parametrize(("call", "code"), [("DescribeAlarms", "ExpiredToken"), ("ListStackResources", "AccessDenied")])
def test_what_stops_every_look_ends_the_command(operator: Watched, call: str, code: str) -> None:
    operator.refuse(call, code)
    done = operator.once("doctor")
    assert (done.code, done.out) == (2, "") and "--profile" in done.err
