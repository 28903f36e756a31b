"""The interpreter in the local cloud: its clock, the package below it, and what is not run."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError
from engine_machines import END, Execute, create, executes, start, task

from oncekit.local import LocalCloud


@pytest.fixture
def execute(cloud: LocalCloud) -> Execute:
    return executes(cloud)


@pytest.mark.ours
def test_time_of_waits_and_expressions_is_the_clocks(execute: Execute, cloud: LocalCloud) -> None:
    before = cloud.clock.now()
    states = {
        "A": {"Type": "Wait", "Seconds": 86_400, "Next": "B"},
        "B": {"Type": "Succeed", "Output": "{% $millis() %}"},
    }
    assert execute(states).output / 1000 == pytest.approx(before + 86_400, abs=1)


@pytest.mark.ours
@pytest.mark.parametrize(
    ("state", "said"),
    [
        ({"Type": "Parallel", "Branches": [{"StartAt": "E", "States": {"E": END}}]}, "the state S is a Parallel"),
        ({"Type": "Pass", "QueryLanguage": "JSONPath"}, "the state S is in JSONPath; only JSONata runs here"),
        (task("sqs:sendMessage.waitForTaskToken", {}), "the state S waits for a callback"),
        (task("states:startExecution.sync:2", {}), "the state S waits for a job to end"),
        (task("sqs:sendMessage", {}, Credentials={}), "the state S has Credentials, which does not run here"),
        ({"Type": "Pass", "Parameters": {}}, "the state S has Parameters, which does not run here"),
    ],
    ids=["parallel", "jsonpath", "callback", "job", "credentials", "jsonpath-field"],
)
def test_who_starts_a_machine_that_is_in_name_only_is_told_why(
    cloud: LocalCloud, state: dict[str, Any], said: str
) -> None:
    machine = create(cloud, {"S": {**state, "End": True}})
    with pytest.raises(ClientError, match=f"in name only: {said}"):
        start(cloud, machine)


@pytest.mark.ours
def test_a_service_that_is_not_run_here_is_named(execute: Execute) -> None:
    assert execute({"S": task("glue:startJobRun", {})}).cause == (
        "the local cloud does not run the integration glue:startJobRun"
    )
    assert "has no action sendMesage" in str(execute({"S": task("aws-sdk:sqs:sendMesage", {})}).cause)


@pytest.mark.aws(
    "Step Functions Developer Guide, Wait",
    "must evaluate to an integer in the stated range",
)
@pytest.mark.parametrize("seconds", [-1, 1.5, 100_000_000, "3"])
def test_a_wait_that_is_no_number_of_seconds_fails(execute: Execute, seconds: Any) -> None:
    waiting = {"Type": "Wait", "Seconds": "{% $states.input %}", "End": True}
    assert execute({"W": waiting}, seconds).error == "States.QueryEvaluationError"


@pytest.mark.aws("Step Functions Developer Guide, Wait", "must conform to the RFC3339 profile of ISO 8601")
@pytest.mark.parametrize(
    "text", ["2026-W01-2T00:00:00Z", "2026-01-02T00Z", "2026-01-02 00:00:00Z", "2026-01-02T00:00:00"]
)
def test_a_timestamp_that_is_none_fails(execute: Execute, text: str) -> None:
    waiting = {"Type": "Wait", "Timestamp": text, "End": True}
    assert execute({"W": waiting}).error == "States.QueryEvaluationError"
