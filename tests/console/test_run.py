"""The model of a run, made of the events of its history: what became of each state, also where histories are odd."""

from __future__ import annotations

import json

from engine_machines import END, create, start
from scenario import charge

from oncekit.console.here import run_here
from oncekit.console.picture import taken
from oncekit.console.run import Run, run_of
from oncekit.local import LocalCloud
from oncekit.local.engine.interceptors import before, breaks, fails
from oncekit.local.execution import Execution

PATH = ("ReceiveRequest", "AcquireLock", "ExecuteBusinessLogic", "JudgeAnswer", "Finalize")
STARTED = {"id": 1, "previousEventId": 0, "type": "ExecutionStarted", "timestamp": "2026-01-01T00:00:00+00:00"}
BAD = {"StartAt": "Bad", "States": {"Bad": {"Type": "Fail", "Error": "Boom"}}}
CATCH = {"Catch": [{"ErrorEquals": ["States.ALL"], "Next": "Out"}], "Next": "Out"}
FAILING_MAP = {"Type": "Map", "Items": [1], "ItemProcessor": BAD}


def by_api(cloud: LocalCloud, arn: str) -> Run:
    """As it is made of what AWS's API answers."""
    client = cloud.client("stepfunctions")
    pages = client.get_paginator("get_execution_history").paginate(executionArn=arn)
    return run_of(client.describe_execution(executionArn=arn), [each for page in pages for each in page["events"]])


def outcomes(run: Run) -> dict[str, str]:
    """The last visit's of each state."""
    return {each.state: each.outcome for each in run.visits}


def until(ended: Execution, last: str) -> Run:
    """As it was read while it ran, right after the first event of this type."""
    kinds = [each["type"] for each in ended.events]
    return run_of({"executionArn": ended.arn, "status": "RUNNING"}, ended.events[: kinds.index(last) + 1])


def test_a_run_is_the_same_from_the_local_cloud_and_from_the_api(cloud: LocalCloud) -> None:
    ended = cloud.run(charge())
    here, there = run_here(ended), by_api(cloud, ended.arn)
    assert tuple(each.state for each in there.visits) == ended.states == PATH
    assert [each.outcome for each in there.visits] == ["succeeded"] * 5
    assert json.loads(there.input or "") == charge() and json.loads(there.output or "")["disposition"] == "EXECUTED"
    assert here.visits == there.visits and here.transitions == there.transitions == ended.transitions == 5


def test_each_call_of_a_task_is_an_attempt_with_what_it_was_given_and_how_it_ended(cloud: LocalCloud) -> None:
    with cloud.intercept(fails("ThrottlingException", state="AcquireLock", nth=range(1, 3))):
        ended = cloud.run(charge())
    run = run_here(ended)
    lock = run.visits[1]
    errors = [each.failure and each.failure.error for each in lock.attempts]
    assert errors == ["DynamoDB.ThrottlingException", "DynamoDB.ThrottlingException", None]
    assert (lock.outcome, lock.retries, {each.resource for each in lock.attempts}) == (
        "succeeded",
        2,
        {"dynamodb:updateItem"},
    )
    assert json.loads(lock.attempts[0].parameters or "")["Key"] == {"id": {"S": "acme#charge-payment#order-1"}}
    assert run.visits[0].variables, "what the state assigned"
    assert taken(run).marks["AcquireLock"].sign == "✓ ↻2"
    assert outcomes(until(ended, "TaskFailed"))["AcquireLock"] == "running", "it will be repeated"


def test_a_caught_failure_is_told_apart_from_one_that_ends_the_execution(cloud: LocalCloud) -> None:
    run = run_here(cloud.run(charge() | {"operation": "ask-somebody"}))
    assert (outcomes(run)["ExecuteBusinessLogic"], outcomes(run)["NeedsAttention"]) == ("caught", "failed")
    assert [each.error for each in run.visits[-1].failures] == ["NeedsAttention"]
    with cloud.intercept(breaks(state="Finalize")):
        run = run_here(cloud.run(charge()))
    assert (run.visits[-1].outcome, run.visits[-1].failures[0].error) == ("failed", "States.Runtime")


def test_a_run_that_goes_on_is_running_in_its_last_state_until_it_is_stopped(cloud: LocalCloud) -> None:
    seen: list[Run] = []

    def look() -> None:
        [running] = cloud.executions.running()
        seen.append(run_here(cloud.describe(running.arn)))
        cloud.stop(running.arn)

    with cloud.intercept(before(look, state="ExecuteBusinessLogic")):
        stopped = run_here(cloud.run(charge()))
    assert [each.outcome for each in seen[0].visits] == ["succeeded", "succeeded", "running"]
    assert seen[0].ended_at is None and seen[0].status == "RUNNING"
    assert [each.outcome for each in stopped.visits] == ["succeeded", "succeeded", "stopped"]


def test_a_failure_within_a_map_is_its_own_and_caught_by_it(cloud: LocalCloud) -> None:
    ended = cloud.wait(start(cloud, create(cloud, {"Each": {**FAILING_MAP, **CATCH}, "Out": END})))
    run = run_here(ended)
    assert ended.status == "SUCCEEDED" and outcomes(run) == {"Each": "caught", "Bad": "failed", "Out": "succeeded"}
    assert outcomes(until(ended, "SucceedStateEntered")) == {"Each": "caught", "Bad": "failed", "Out": "running"}
    assert [each.parent for each in run.visits] == [None, 1, None]
    assert taken(run).steps == ["Each", "Out"], "what is within has no place of its own in the picture"
