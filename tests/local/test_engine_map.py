"""Map: what Step Functions does with iterations."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from engine_machines import END, Execute, executes, succeed, task, types

from oncekit.local import LocalCloud
from oncekit.local.engine import Call

Given = dict[str, Any]


@pytest.fixture
def machine(cloud: LocalCloud) -> Execute:
    return executes(cloud)


def each(*, items: Any = "{% $states.input %}", states: Given | None = None, **more: Any) -> Given:
    """A Map over its input."""
    states = states or {"One": END}
    processor = {"ProcessorConfig": {"Mode": "INLINE"}, "StartAt": next(iter(states)), "States": states}
    return {
        "Type": "Map",
        "Items": items,
        "ItemProcessor": processor,
        **({} if "Next" in more else {"End": True}),
        **more,
    }


def read(cloud: LocalCloud, **more: Any) -> Given:
    key = {"id": {"S": "{% $string($states.input) %}"}}
    return task("dynamodb:getItem", {"TableName": cloud.outputs["TableName"], "Key": key}, **more)


def pass_on(**more: Any) -> Given:
    return {"Type": "Pass", **({} if "Next" in more else {"End": True}), **more}


@pytest.mark.aws(
    "Amazon States Language specification", "refers to the result that a Task, Map, or Parallel state returns"
)
def test_results_come_in_the_order_of_the_items(machine: Execute) -> None:
    waits = {"W": {"Type": "Wait", "Seconds": "{% $states.input %}", "Next": "D"}, "D": succeed("$states.input * 2")}
    assert machine({"M": each(states=waits)}, [3, 1, 2]).output == [6, 2, 4]


@pytest.mark.aws(unconfirmed="V32")
def test_item_selector_sees_the_maps_input_the_item_and_its_index(machine: Execute) -> None:
    selected = {
        "all": "{% $states.input.x %}",
        "item": "{% $states.context.Map.Item.Value %}",
        "index": "{% $states.context.Map.Item.Index %}",
    }
    execution = machine({"M": each(items="{% $states.input.of %}", ItemSelector=selected)}, {"of": ["p", "q"], "x": 7})
    assert execution.output == [{"all": 7, "item": "p", "index": 0}, {"all": 7, "item": "q", "index": 1}]


@pytest.mark.aws(
    "Amazon States Language specification",
    "When a Parallel branch or Map iteration completes, its variables go out of scope and are no longer",
)
def test_outer_variables_are_read_inside_and_inner_ones_stay_there(machine: Execute) -> None:
    inside = {"A": pass_on(Assign={"inner": "{% $outer + $states.input %}"}, Next="B"), "B": succeed("$inner")}
    states = {
        "Set": pass_on(Assign={"outer": 10}, Next="M"),
        "M": each(states=inside, Assign={"sum": "{% $sum($states.result) %}"}, Next="Ask"),
        "Ask": succeed("[$sum, $exists($inner)]"),
    }
    assert machine(states, [1, 2, 3]).output == [36, False]


@pytest.mark.aws(
    "Step Functions Developer Guide, Map",
    "If any iteration fails, entire Map state fails, and all iterations are terminated",
)
def test_error_inside_is_caught_by_the_maps_catch(machine: Execute, cloud: LocalCloud) -> None:
    inside = {"F": {"Type": "Fail", "Error": "Custom", "Cause": "{% 'of ' & $states.input %}"}}
    caught = [{"ErrorEquals": ["Custom"], "Output": "{% $states.errorOutput %}", "Next": "E"}]
    execution = machine({"M": each(states=inside, Catch=caught, Next="E"), "E": END}, ["x"])
    assert execution.output == {"Error": "Custom", "Cause": "of x"}
    kinds = types(execution)
    assert kinds.index("MapIterationFailed") < kinds.index("MapStateFailed") < kinds.index("SucceedStateEntered")


@pytest.mark.aws(
    "Step Functions Developer Guide, Handling errors in workflows",
    "Next (Required): A string that must exactly match one of the state machine's state names.",
)
def test_a_catch_may_lead_back_to_its_own_state(machine: Execute, cloud: LocalCloud) -> None:
    again = [{"ErrorEquals": ["States.QueryEvaluationError"], "Assign": {"ok": True}, "Next": "M"}]
    inside = {"F": succeed("$states.input")}
    items = "{% $exists($ok) ? [1] : $error('first') %}"
    execution = machine({"M": each(states=inside, Items=items, Catch=again, Next="E"), "E": END})
    assert (execution.output, execution.states) == ([1], ("M", "M", "F", "E"))


@pytest.mark.aws(
    "Step Functions Developer Guide, Map",
    "If any iteration fails, entire Map state fails, and all iterations are terminated",
)
def test_first_failure_ends_the_other_iterations(machine: Execute, cloud: LocalCloud) -> None:
    inside = {
        "C": {"Type": "Choice", "Choices": [{"Condition": "{% $states.input = 0 %}", "Next": "F"}], "Default": "W"},
        "F": {"Type": "Fail", "Error": "Custom"},
        "W": {"Type": "Wait", "Seconds": 500, "Next": "R"},
        "R": read(cloud),
    }
    before = cloud.clock.now()
    execution = machine({"M": each(states=inside)}, [1, 0, 2])
    assert execution.error == "Custom"
    assert types(execution).count("MapIterationAborted") <= 2
    assert "TaskScheduled" not in types(execution)
    assert cloud.clock.now() < before + 500


@pytest.mark.aws(
    "Step Functions Developer Guide, Map",
    "Inline Map supports up to 40 concurrent iterations and is suitable for smaller datasets",
)
@pytest.mark.parametrize(("limit", "expected"), [(1, 1), (2, 2), (0, 6)])
def test_no_more_iterations_run_at_once_than_max_concurrency(
    machine: Execute, cloud: LocalCloud, limit: int, expected: int
) -> None:
    lock, now, most = threading.Lock(), [0], [0]
    full = threading.Event()

    def count(_call: Call, proceed: Callable[[], Given]) -> Given:
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
            if most[0] == expected:
                full.set()
        full.wait(2)
        try:
            return proceed()
        finally:
            with lock:
                now[0] -= 1

    with cloud.intercept(count):
        machine({"M": each(states={"R": read(cloud)}, MaxConcurrency=limit)}, list(range(6)))
    assert most == [expected]


@pytest.mark.ours
def test_time_waits_for_the_iteration_that_is_at_work(machine: Execute, cloud: LocalCloud) -> None:
    """One iteration sleeps, another one is in a call: virtual time must not jump over the call."""
    seen: list[float] = []

    def slow(_call: Call, proceed: Callable[[], Given]) -> Given:
        threading.Event().wait(0.2)
        seen.append(cloud.clock.now())
        return proceed()

    inside = {
        "C": {"Type": "Choice", "Choices": [{"Condition": "{% $states.input = 0 %}", "Next": "R"}], "Default": "W"},
        "R": read(cloud),
        "W": {"Type": "Wait", "Seconds": 3600, "Next": "D"},
        "D": END,
    }
    before = cloud.clock.now()
    with cloud.intercept(slow):
        assert machine({"M": each(states=inside)}, [1, 0, 2]).status == "SUCCEEDED"
    assert seen == [before]
    assert cloud.clock.now() == before + 3600


@pytest.mark.aws(
    "Step Functions Developer Guide, Quotas",
    "256 KiB of data as a UTF-8 encoded string. This quota affects tasks (activity, Lambda function, or",
)
@pytest.mark.aws(unconfirmed="V29")
@pytest.mark.parametrize(("letters", "error"), [(8_000, None), (9_000, "States.DataLimitExceeded")])
def test_results_of_a_map_are_bounded_together(machine: Execute, letters: int, error: str | None) -> None:
    """Thirty iterations with 8,000 bytes each are within 262,144 bytes, with 9,000 bytes each they are not."""
    inner = {"I": succeed(f"$pad('', {letters}, 'x')")}
    state = each(items="{% [1..30] %}", states=inner, Output="{% $count($states.result) %}")
    execution = machine({"M": state})
    assert (execution.error, execution.output) == (error, None if error else 30)
