"""What a page says that became of a state, where histories are odd: retries, branches, stops, redrives."""

from __future__ import annotations

import pytest
from engine_machines import END, create, start
from scenario import charge

from oncekit.console.here import run_here
from oncekit.console.run import Run, run_of
from oncekit.local import LocalCloud
from oncekit.local.execution import Execution
from oncekit.local.faults import before, fails

BAD = {"StartAt": "Bad", "States": {"Bad": {"Type": "Fail", "Error": "Boom"}}}
LONG = {"StartAt": "Long", "States": {"Long": {"Type": "Wait", "Seconds": 100, "End": True}}}
CATCH = {"Catch": [{"ErrorEquals": ["States.ALL"], "Next": "Out"}], "Next": "Out"}
BRANCHING = {
    "Map": {"Type": "Map", "Items": [1], "ItemProcessor": BAD},
    "Parallel": {"Type": "Parallel", "Branches": [LONG, BAD]},
}


def outcomes(run: Run) -> dict[str, str]:
    """The last visit's of each state."""
    return {each.state: each.outcome for each in run.visits}


def until(ended: Execution, last: str) -> Run:
    """As it was read while it ran, right after the first event of this type."""
    kinds = [each["type"] for each in ended.events]
    events = ended.events[: kinds.index(last) + 1]
    return run_of({"executionArn": ended.arn, "status": "RUNNING", "startDate": events[0]["timestamp"]}, events)


@pytest.mark.parametrize("kind", BRANCHING)
def test_a_failure_within_a_state_is_the_states_own_and_caught_by_it(cloud: LocalCloud, kind: str) -> None:
    ended = cloud.wait(start(cloud, create(cloud, {"Each": {**BRANCHING[kind], **CATCH}, "Out": END})))
    assert ended.status == "SUCCEEDED"
    found = outcomes(run_here(ended))
    assert (found["Each"], found["Bad"], found["Out"]) == ("caught", "failed", "succeeded")
    going_on = outcomes(until(ended, "SucceedStateEntered"))
    assert (going_on["Bad"], going_on["Out"]) == ("failed", "running")
    assert found.get("Long", "stopped") == going_on.get("Long", "stopped") == "stopped"


@pytest.mark.parametrize("kind", BRANCHING)
def test_a_failure_within_a_state_that_nothing_catches_is_its_failure(cloud: LocalCloud, kind: str) -> None:
    ended = cloud.wait(start(cloud, create(cloud, {"Each": {**BRANCHING[kind], "Next": "Out"}, "Out": END})))
    run = run_here(ended)
    assert (ended.status, outcomes(run)["Each"], outcomes(run)["Bad"]) == ("FAILED", "failed", "failed")
    assert run.visits[0].failures[0].error == "Boom"


def test_a_call_that_failed_and_will_be_repeated_is_no_end_of_its_state(cloud: LocalCloud) -> None:
    with cloud.intercept(fails("ThrottlingException", state="AcquireLock", nth=1)):
        ended = cloud.run(charge())
    assert outcomes(until(ended, "TaskFailed"))["AcquireLock"] == "running"


def test_a_state_that_was_stopped_and_redriven_was_stopped(cloud: LocalCloud) -> None:
    def stop() -> None:
        [running] = cloud.executions.running()
        cloud.stop(running.exec_arn)

    with cloud.intercept(before(stop, state="Finalize", nth=1)):
        stopped = cloud.run(charge())
    with cloud.intercept(fails("AccessDeniedException", state="Finalize", nth=0)):
        cloud.client("stepfunctions").redrive_execution(executionArn=stopped.arn)
        run = run_here(cloud.wait(stopped.arn))
    assert [each.outcome for each in run.visits[4:]] == ["stopped", "redriven", "failed"]
