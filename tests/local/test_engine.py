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
