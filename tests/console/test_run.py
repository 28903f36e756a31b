"""The model of a run, made of the events of its history."""

from __future__ import annotations

import json

import pytest
from engine_machines import END, create, start
from scenario import charge

from oncekit.console.here import run_here
from oncekit.console.picture import taken
from oncekit.console.run import Run, run_of
from oncekit.local import LocalCloud
from oncekit.local.faults import before, fails

PATH = ("ReceiveRequest", "AcquireLock", "ExecuteBusinessLogic", "IsResponseLarge", "Finalize")
STARTED = {"id": 1, "previousEventId": 0, "type": "ExecutionStarted", "timestamp": "2026-01-01T00:00:00+00:00"}


def by_api(cloud: LocalCloud, arn: str) -> Run:
    """As it is made of what AWS's API answers."""
    client = cloud.client("stepfunctions")
    pages = client.get_paginator("get_execution_history").paginate(executionArn=arn)
    return run_of(client.describe_execution(executionArn=arn), [each for page in pages for each in page["events"]])


def test_a_run_is_the_same_from_the_local_cloud_and_from_the_api(cloud: LocalCloud) -> None:
    ended = cloud.run(charge())
    here, there = run_here(ended), by_api(cloud, ended.arn)
    assert here.path == there.path == ended.states == PATH
    assert [each.outcome for each in there.visits] == ["succeeded"] * 5
    assert json.loads(there.input or "") == charge() and json.loads(there.output or "")["disposition"] == "EXECUTED"
    assert here.visits == there.visits and here.transitions == there.transitions == ended.transitions == 5
    assert [json.loads(each.input or "") for each in (here, there)] == [charge(), charge()]


def test_each_call_of_a_task_is_an_attempt_with_what_it_was_given_and_how_it_ended(cloud: LocalCloud) -> None:
    with cloud.intercept(fails("ThrottlingException", state="AcquireLock", nth=range(1, 3))):
        run = run_here(cloud.run(charge()))
    lock = run.visits[1]
    assert lock.outcome == "succeeded" and lock.retries == 2
    assert [each.failure and each.failure.error for each in lock.attempts] == ["DynamoDB.ThrottlingException"] * 2 + [
        None
    ]
    assert {each.resource for each in lock.attempts} == {"dynamodb:updateItem"}
    assert json.loads(lock.attempts[0].parameters or "")["Key"] == {"id": {"S": "acme#charge-payment#order-1"}}
    assert lock.attempts[0].began_at < lock.attempts[1].began_at
    assert run.visits[0].variables, "what the state assigned"


def test_a_caught_failure_is_told_apart_from_one_that_ends_the_execution(cloud: LocalCloud) -> None:
    run = run_here(cloud.run(charge() | {"operation": "ask-somebody"}))
    outcomes = {each.state: each.outcome for each in run.visits}
    assert outcomes["ExecuteBusinessLogic"] == "caught" and outcomes["NeedsAttention"] == "failed"
    assert run.visits[-1].failures[0].error == "NeedsAttention"
    marks = taken(run).marks
    assert (marks["ExecuteBusinessLogic"].sign[0], marks["NeedsAttention"].sign) == ("↷", "✗")
    assert "Finalize" not in marks, "not reached"


def test_a_run_that_goes_on_is_running_in_its_last_state(cloud: LocalCloud) -> None:
    seen: list[Run] = []

    def look() -> None:
        [running] = cloud.executions.running()
        seen.append(run_here(cloud.describe(running.exec_arn)))
        cloud.stop(running.exec_arn)

    with cloud.intercept(before(look, state="ExecuteBusinessLogic")):
        stopped = run_here(cloud.run(charge()))
    assert [each.outcome for each in seen[0].visits] == ["succeeded", "succeeded", "running"]
    assert seen[0].ended_at is None and seen[0].status == "RUNNING"
    assert [each.outcome for each in stopped.visits] == ["succeeded", "succeeded", "stopped"]


def test_branches_whose_events_alternate_are_told_apart(cloud: LocalCloud) -> None:
    branch = {"StartAt": "Inner", "States": {"Inner": {"Type": "Wait", "Seconds": 1, "Next": "Out"}, "Out": END}}
    states = {"Each": {"Type": "Map", "Items": list(range(16)), "ItemProcessor": branch, "End": True}}
    arn = start(cloud, create(cloud, states))
    run = run_here(cloud.wait(arn))
    assert [each.state for each in run.visits].count("Inner") == 16
    assert {each.outcome for each in run.visits} == {"succeeded"} and all(each.exited_at for each in run.visits)
    inner = [each for each in run.visits if each.state == "Inner"]
    assert {each.parent for each in inner} == {1} and run.visits[0].parent is None
    assert taken(run).steps == ["Each"], "what is within has no place of its own in the picture"
    assert all(each.output == each.input for each in inner) and len({each.input for each in inner}) == 16


def test_a_redrive_stands_among_the_visits_and_not_on_the_path(cloud: LocalCloud) -> None:
    with cloud.intercept(fails("AccessDeniedException", state="Finalize", nth=0)):
        dead = cloud.run(charge())
    assert dead.status == "FAILED"
    cloud.client("stepfunctions").redrive_execution(executionArn=dead.arn)
    run = run_here(cloud.wait(dead.arn))
    assert [each.outcome for each in run.visits[4:]] == ["failed", "redriven", "succeeded"]
    assert run.path == (*PATH, "Finalize") and run.status == "SUCCEEDED"


@pytest.mark.parametrize("event", [{"type": "SomethingNew"}, {"type": "TaskFailed", "taskFailedEventDetails": {}}])
def test_events_that_say_nothing_of_a_state_are_no_error(event: dict[str, object]) -> None:
    more = {"id": 2, "previousEventId": 1, "timestamp": STARTED["timestamp"], **event}
    run = run_of({"executionArn": "arn:aws:states:r:1:execution:m:n", "status": "RUNNING"}, [STARTED, more])
    assert run.visits == [] and [each.kind for each in run.events] == ["ExecutionStarted", event["type"]]
    assert run.name == "n"
