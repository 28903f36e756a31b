"""The life of an execution: it starts once, ends once and for good, and a redrive goes on where it died."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import late_calls
import pytest
from botocore.exceptions import ClientError
from engine_machines import END, Execute, create, executes, start, succeed, task, types

from oncekit.asl.errors import Reading, is_named, read_as
from oncekit.local import Execution, LocalCloud
from oncekit.local.engine.service_calls import Call
from oncekit.local.faults import fails, never_arrives

Given = dict[str, Any]


@pytest.fixture
def machine(cloud: LocalCloud) -> Execute:
    return executes(cloud)


def read(cloud: LocalCloud, **more: Any) -> Given:
    return task("dynamodb:getItem", {"TableName": cloud.outputs["TableName"], "Key": {"id": {"S": "k"}}}, **more)


@contextmanager
def standing(cloud: LocalCloud) -> Iterator[None]:
    """Virtual time stands still, as if another execution were at work."""
    cloud.clock.enter()
    try:
        yield
    finally:
        cloud.clock.leave()


@contextmanager
def forced_switching() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def assert_aborted_for_good(cloud: LocalCloud, arn: str) -> None:
    execution = cloud.describe(arn)
    assert (execution.status, execution.error) == ("ABORTED", "Enough"), (execution.error, execution.cause)
    assert [kind for kind in types(execution) if kind.startswith("Execution")] == [
        "ExecutionStarted",
        "ExecutionAborted",
    ]
    assert types(execution)[-1] == "ExecutionAborted"


# ---- stops ----


def answers(proceed: Callable[[], Given]) -> Given:
    return proceed()


def raises(_proceed: Callable[[], Given]) -> Given:
    raise ConnectionError


@pytest.mark.aws(unconfirmed="V24")
@pytest.mark.parametrize("then", [answers, raises])
@pytest.mark.parametrize("caught", [False, True])
def test_stop_in_the_middle_of_a_call_aborts_whatever_the_call_comes_to(
    cloud: LocalCloud, then: Callable[[Any], Given], caught: bool
) -> None:
    more = {"Catch": [{"ErrorEquals": ["States.ALL"], "Next": "E"}], "Next": "E"} if caught else {"Next": "E"}
    created = create(cloud, {"R": read(cloud, **more), "E": END})
    in_call, stopped = threading.Semaphore(0), threading.Semaphore(0)

    def hold(_call: Call, proceed: Callable[[], Given]) -> Given:
        in_call.release()
        stopped.acquire()
        return then(proceed)

    with cloud.intercept(hold), forced_switching():
        for _ in range(3):
            arn = start(cloud, created)
            in_call.acquire()
            cloud.stop(arn, error="Enough")
            stopped.release()
            _until_gone(cloud.describe(arn).name)
            assert_aborted_for_good(cloud, arn)


def _until_gone(name: str) -> None:
    for thread in [each for each in threading.enumerate() if each.name == name]:
        thread.join(10)


# ---- starts ----


@pytest.mark.aws(
    model="stepfunctions",
    says="if you call StartExecution with the same name and input as a running execution, the call succeeds and",
)
def test_start_with_the_name_and_input_of_a_running_execution_is_the_same_start(cloud: LocalCloud) -> None:
    created = create(cloud, {"A": {"Type": "Wait", "Seconds": 60, "Next": "B"}, "B": END})
    with standing(cloud):
        first = start(cloud, created, {"a": 1}, name="same")
        assert start(cloud, created, {"a": 1}, name="same") == first
        with pytest.raises(ClientError, match="ExecutionAlreadyExists"):
            start(cloud, created, {"a": 2}, name="same")
    cloud.wait(first)
    with pytest.raises(ClientError, match="ExecutionAlreadyExists"):
        start(cloud, created, {"a": 1}, name="same")


# ---- redrives ----


def redrive(cloud: LocalCloud, arn: str) -> Execution:
    cloud.client("stepfunctions").redrive_execution(executionArn=arn)
    return cloud.wait(arn)


@pytest.mark.aws(
    model="stepfunctions", says="it continues the failed execution from the unsuccessful step and uses the same input"
)
def test_redrive_resumes_a_stopped_execution_in_its_state_with_input_and_variables(cloud: LocalCloud) -> None:
    states = {
        "A": {"Type": "Pass", "Assign": {"v": "kept"}, "Output": {"in": 1}, "Next": "W"},
        "W": {"Type": "Wait", "Seconds": 60, "Next": "E"},
        "E": succeed("{'v': $v, 'in': $states.input, 'n': $states.context.Execution.RedriveCount}"),
    }
    with standing(cloud):
        arn = start(cloud, create(cloud, states))
        while cloud.describe(arn).states != ("A", "W"):
            time.sleep(0.001)
        cloud.stop(arn)
    redriven = redrive(cloud, arn)
    assert (redriven.arn, redriven.status) == (arn, "SUCCEEDED")
    assert redriven.output == {"v": "kept", "in": {"in": 1}, "n": 1}
    assert (redriven.states, redriven.error) == (("A", "W", "W", "E"), None)
    assert [each for each in types(redriven) if each.startswith("Execution")] == [
        "ExecutionStarted", "ExecutionAborted", "ExecutionRedriven", "ExecutionSucceeded",
    ]  # fmt: skip


# ---- history ----


@pytest.mark.aws(unconfirmed="V12")
def test_events_follow_one_another(machine: Execute) -> None:
    execution = machine({"A": {"Type": "Pass", "Next": "B"}, "B": END})
    assert types(execution) == [
        "ExecutionStarted",
        "PassStateEntered",
        "PassStateExited",
        "SucceedStateEntered",
        "SucceedStateExited",
        "ExecutionSucceeded",
    ]
    assert [event["previousEventId"] for event in execution.events] == [0, 0, 2, 3, 4, 5]


@pytest.mark.aws(
    "Step Functions Developer Guide, Quotas",
    "25,000 events in a single state machine execution history. If the execution history reaches this quota",
)
def test_an_execution_ends_with_the_last_event_that_its_history_can_have(machine: Execute) -> None:
    execution = machine({"A": {"Type": "Pass", "Next": "B"}, "B": {"Type": "Pass", "Next": "A"}})
    assert (execution.error, len(execution.events), types(execution)[-1]) == (
        "States.Runtime",
        25_000,
        "ExecutionFailed",
    )


# ---- retries ----


@pytest.mark.aws(
    "Step Functions Developer Guide, Handling errors",
    "A positive integer that sets the maximum value, in seconds, up to which a retry interval can increase.",
)
def test_retries_wait_longer_each_time_up_to_the_longest(machine: Execute, cloud: LocalCloud) -> None:
    retry = [
        {
            "ErrorEquals": ["States.ALL"],
            "IntervalSeconds": 100,
            "BackoffRate": 3,
            "MaxDelaySeconds": 500,
            "MaxAttempts": 4,
        }
    ]
    before = cloud.clock.now()
    with cloud.intercept(never_arrives(nth=range(1, 5))):
        assert machine({"R": read(cloud, Retry=retry)}).status == "SUCCEEDED"
    assert round(cloud.clock.now() - before) == 100 + 300 + 500 + 500


@pytest.mark.aws(
    "Step Functions Developer Guide, Handling errors",
    "it already reached its maximum of two retries (MaxAttempts) for that particular error",
)
def test_each_retrier_has_attempts_of_its_own(machine: Execute, cloud: LocalCloud) -> None:
    errors = iter(["ThrottlingException", "InternalServerError", "ThrottlingException", "InternalServerError"])
    attempts: list[int] = []

    def strike(call: Call, proceed: Callable[[], Given]) -> Given:
        attempts.append(call.attempt)
        return fails(next(errors))(call, proceed)

    retry = [
        {"ErrorEquals": ["DynamoDB.InternalServerErrorException", "DynamoDB.InternalServerError"], "MaxAttempts": 1},
        {"ErrorEquals": ["States.ALL"], "MaxAttempts": 5},
    ]
    with cloud.intercept(strike):
        assert machine({"R": read(cloud, Retry=retry)}).status == "FAILED"
    assert attempts == [0, 1, 2, 3]


# ---- data ----


@pytest.mark.aws(
    "Step Functions Developer Guide, Quotas",
    "256 KiB of data as a UTF-8 encoded string. This quota affects tasks (activity, Lambda function, or",
)
@pytest.mark.aws(unconfirmed="V33")
def test_variables_over_256_kib_are_refused_by_name(machine: Execute) -> None:
    many = "{% $join($map([1..300], function($n) { $pad('', 1000, 'x') })) %}"
    states = {"A": {"Type": "Pass", "Assign": {"v": many}, "Next": "B"}, "B": END}
    assert machine(states).error == "States.DataLimitExceeded"


@pytest.mark.aws(
    "Step Functions Developer Guide, Quotas",
    "256 KiB of data as a UTF-8 encoded string. This quota affects tasks (activity, Lambda function, or",
)
def test_size_is_counted_in_bytes(machine: Execute) -> None:
    wide = succeed("$join($map([1..100], function($n) { $pad('', 1000, 'ü') }))")
    assert machine({"B": wide}).status == "SUCCEEDED"
    wide = succeed("$join($map([1..140], function($n) { $pad('', 1000, 'ü') }))")
    assert machine({"B": wide}).error == "States.DataLimitExceeded"


@pytest.mark.aws(unconfirmed="V97")
def test_an_answer_just_under_the_limit_ends_the_execution_where_no_catch_sees_it(
    machine: Execute, cloud: LocalCloud
) -> None:
    answer = {"Item": {"id": {"S": "x" * 261_500}}}
    catch = [{"ErrorEquals": ["States.DataLimitExceeded"], "Next": "Caught"}]
    for output, status in (({}, "FAILED"), ({"Output": {}}, "SUCCEEDED")):
        states = {"R": read(cloud, Catch=catch, Next="End", **output), "End": END, "Caught": END}
        with cloud.intercept(late_calls.answers(answer, state="R", nth=1)):
            ended = machine(states)
        assert (ended.status, ended.error) == (status, None if output else "States.DataLimitExceeded")
        assert "Caught" not in ended.states


@pytest.mark.aws(
    "Step Functions Developer Guide, Handling errors",
    "acts as a wildcard that matches any known error name except for States.Timeout",
)
@pytest.mark.aws(
    "Step Functions Developer Guide, Handling errors",
    "must appear alone in a Catcher and cannot catch the States.DataLimitExceeded terminal error or Runtime",
)
@pytest.mark.parametrize(
    ("name", "error", "caught"),
    [
        ("States.TaskFailed", "Mine", True),
        ("States.TaskFailed", "States.Permissions", True),
        ("States.TaskFailed", "States.Timeout", False),
        ("States.TaskFailed", "States.DataLimitExceeded", False),
        ("States.ALL", "States.Timeout", True),
        ("States.ALL", "States.Runtime", False),
        ("States.ALL", "States.DataLimitExceeded", False),
        ("States.Runtime", "States.Runtime", True),
        ("mine", "Mine", False),
    ],
)
def test_wildcards_match_what_they_say(name: str, error: str, caught: bool) -> None:
    assert is_named({name}, error) is caught


@pytest.mark.aws(
    recorded="localstack/localstack, services/stepfunctions/v2/error_handling/test_states_errors.snapshot.json",
    says="test_service_task_lambada_catch_state_all_data_limit_exceeded: States.ALL leads to HandleGeneralError",
)
@pytest.mark.aws(unconfirmed="V96")
def test_wildcards_match_what_was_recorded_where_a_test_says_so() -> None:
    with read_as(Reading(all_has_data_limit=True, runtime_is_caught=False)):
        assert is_named({"States.ALL"}, "States.DataLimitExceeded")
        assert not is_named({"States.ALL"}, "States.Runtime")
        assert not is_named({"States.Runtime"}, "States.Runtime")
    assert not is_named({"States.ALL"}, "States.DataLimitExceeded")
