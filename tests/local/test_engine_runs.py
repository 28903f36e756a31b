"""The life of an execution: it starts once, ends once and for good, and a redrive goes on where it died."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from botocore.exceptions import ClientError
from engine_machines import END, Execute, create, executes, start, succeed, task, types

from oncekit.local import Execution, LocalCloud
from oncekit.local.engine.boundaries import Boundary, boundaries
from oncekit.local.engine.service_calls import Call

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


def packed(cloud: LocalCloud, arn: str) -> Execution:
    """As it is described when it takes less room."""
    cloud.executions.find(arn).run.pack()
    return cloud.describe(arn)


@pytest.mark.aws(
    model="stepfunctions", says="it continues the failed execution from the unsuccessful step and uses the same input"
)
@pytest.mark.parametrize("described", [LocalCloud.describe, packed])
def test_redrive_resumes_a_stopped_execution_in_its_state_with_input_and_variables(
    cloud: LocalCloud, described: Callable[[LocalCloud, str], Execution]
) -> None:
    states = {
        "A": {"Type": "Pass", "Assign": {"v": "kept"}, "Output": {"in": 1}, "Next": "W"},
        "W": {"Type": "Wait", "Seconds": 60, "Next": "E"},
        "E": succeed("{'v': $v, 'in': $states.input, 'n': $states.context.Execution.RedriveCount}"),
    }
    with standing(cloud):
        arn = start(cloud, create(cloud, states))
        while cloud.describe(arn).states != ("A", "W"):
            time.sleep(0.001)
        stopped = cloud.stop(arn)
    assert described(cloud, arn) == stopped
    redriven = redrive(cloud, arn)
    assert described(cloud, arn) == redriven
    assert (redriven.arn, redriven.status) == (arn, "SUCCEEDED")
    assert redriven.output == {"v": "kept", "in": {"in": 1}, "n": 1}
    assert (redriven.states, redriven.error) == (("A", "W", "W", "E"), None)
    assert [each for each in types(redriven) if each.startswith("Execution")] == [
        "ExecutionStarted", "ExecutionAborted", "ExecutionRedriven", "ExecutionSucceeded",
    ]  # fmt: skip


@pytest.mark.aws(
    model="stepfunctions", says="it continues the failed execution from the unsuccessful step and uses the same input"
)
def test_a_redrive_goes_on_after_the_state_that_was_left_and_by_its_own_definition(cloud: LocalCloud) -> None:
    created = create(cloud, {"A": {"Type": "Pass", "Output": 1, "Next": "B"}, "B": succeed("$states.input + 1")})

    def stops(boundary: Boundary) -> None:
        if (boundary.place, boundary.state) == ("leave", "A") and not boundary.execution.redrive_count:
            boundary.execution.stop("Enough", None)

    with boundaries(stops):
        arn = start(cloud, created)
        cloud.wait(arn)
    changed = {"QueryLanguage": "JSONata", "StartAt": "B", "States": {"B": succeed("'changed'")}}
    cloud.client("stepfunctions").update_state_machine(stateMachineArn=created, definition=json.dumps(changed))
    redriven = redrive(cloud, arn)
    assert (redriven.states, redriven.output) == (("A", "B"), 2)


# ---- deletions ----


@pytest.mark.aws(
    model="stepfunctions", says="On the next state transition, the state machine's executions are terminated"
)
def test_an_execution_of_a_deleted_machine_ends_at_its_next_transition(cloud: LocalCloud) -> None:
    created = create(cloud, {"A": {"Type": "Wait", "Seconds": 60, "Next": "B"}, "B": END})
    client = cloud.client("stepfunctions")
    with standing(cloud):
        arn = start(cloud, created)
        client.delete_state_machine(stateMachineArn=created)
        assert client.describe_execution(executionArn=arn)["status"] == "RUNNING"
        with pytest.raises(ClientError, match="StateMachineDoesNotExist"):
            start(cloud, created)
    assert (cloud.wait(arn).status, cloud.describe(arn).states) == ("ABORTED", ("A",))


# ---- faults of a test ----


@pytest.mark.ours
def test_what_a_test_raises_in_a_call_ends_the_execution_and_not_time(cloud: LocalCloud) -> None:
    class Fails(BaseException):
        """As `pytest.fail` raises."""

    def fault(_call: Call, _proceed: Callable[[], Given]) -> Given:
        raise Fails

    threads, threading.excepthook = threading.excepthook, lambda _told: None
    try:
        with cloud.intercept(fault):
            assert cloud.wait(start(cloud, create(cloud, {"R": read(cloud)}))).error == "States.Runtime"
    finally:
        threading.excepthook = threads
    waits = {"W": {"Type": "Wait", "Seconds": 3600, "Next": "E"}, "E": END}
    assert cloud.wait(start(cloud, create(cloud, waits)), 5).status == "SUCCEEDED"


# ---- history ----


@pytest.mark.aws(
    "Step Functions Developer Guide, Quotas",
    "25,000 events in a single state machine execution history. If the execution history reaches this quota",
)
def test_an_execution_ends_with_the_last_event_that_its_history_can_have(machine: Execute, cloud: LocalCloud) -> None:
    execution = machine({"A": {"Type": "Pass", "Next": "B"}, "B": {"Type": "Pass", "Next": "A"}})
    assert (execution.error, len(execution.events), types(execution)[-1]) == (
        "States.Runtime",
        25_000,
        "ExecutionFailed",
    )
    with pytest.raises(ClientError, match="ExecutionNotRedrivable"):
        redrive(cloud, execution.arn)
