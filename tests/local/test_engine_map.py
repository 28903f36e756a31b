"""Map: what Step Functions does with iterations."""

from __future__ import annotations

from typing import Any

import pytest
from engine_machines import END, Execute, executes, succeed, types

from oncekit.local import LocalCloud

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


def pass_on(**more: Any) -> Given:
    return {"Type": "Pass", **({} if "Next" in more else {"End": True}), **more}


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
def test_error_inside_is_caught_by_the_maps_catch(machine: Execute) -> None:
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
def test_a_catch_may_lead_back_to_its_own_state(machine: Execute) -> None:
    again = [{"ErrorEquals": ["States.QueryEvaluationError"], "Assign": {"ok": True}, "Next": "M"}]
    inside = {"F": succeed("$states.input")}
    items = "{% $exists($ok) ? [1] : $error('first') %}"
    execution = machine({"M": each(states=inside, Items=items, Catch=again, Next="E"), "E": END})
    assert (execution.output, execution.states) == ([1], ("M", "M", "F", "E"))


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
