"""Map: what Step Functions does with iterations."""

from __future__ import annotations

import pytest
from asl.small import END, each, ended, fails, ok, pass_on, succeed, task

SPEC = "Amazon States Language specification"
RECORDED = "LocalStack: tests/aws/services/stepfunctions/v2"
OUTSIDE = succeed("{'of': $states.input, 'in': $in, 'out': $exists($states.context.Map)}")


@pytest.mark.aws(unconfirmed="V32")
def test_item_selector_sees_the_maps_input_the_item_and_its_index() -> None:
    selected = {
        "all": "{% $states.input.x %}",
        "item": "{% $states.context.Map.Item.Value %}",
        "index": "{% $states.context.Map.Item.Index %}",
    }
    end = ended({"M": each(items="{% $states.input.of %}", ItemSelector=selected)}, {"of": ["p", "q"], "x": 7})
    assert end.output == [{"all": 7, "item": "p", "index": 0}, {"all": 7, "item": "q", "index": 1}]


@pytest.mark.aws(
    SPEC,
    "When a Parallel branch or Map iteration completes, its variables go out of scope and are no longer",
)
def test_outer_variables_are_read_inside_and_inner_ones_stay_there() -> None:
    inside = {"A": pass_on(Assign={"inner": "{% $outer + $states.input %}"}, Next="B"), "B": succeed("$inner")}
    states = {
        "Set": pass_on(Assign={"outer": 10}, Next="M"),
        "M": each(states=inside, Assign={"sum": "{% $sum($states.result) %}"}, Next="Ask"),
        "Ask": succeed("[$sum, $exists($inner)]"),
    }
    assert ended(states, [1, 2, 3]).output == [36, False]


@pytest.mark.aws(
    "Step Functions Developer Guide, Map",
    "If any iteration fails, entire Map state fails, and all iterations are terminated",
)
def test_error_inside_is_caught_by_the_maps_catch() -> None:
    inside = {"F": {"Type": "Fail", "Error": "Custom", "Cause": "{% 'of ' & $states.input %}"}}
    caught = [{"ErrorEquals": ["Custom"], "Output": "{% $states.errorOutput %}", "Next": "E"}]
    end = ended({"M": each(states=inside, Catch=caught, Next="E"), "E": END}, ["x"])
    assert end.output == {"Error": "Custom", "Cause": "of x"}
    kinds = end.types
    assert kinds.index("MapIterationFailed") < kinds.index("MapStateFailed") < kinds.index("SucceedStateEntered")


@pytest.mark.aws(
    "Step Functions Developer Guide, Handling errors in workflows",
    "Next (Required): A string that must exactly match one of the state machine's state names.",
)
def test_a_catch_may_lead_back_to_its_own_state() -> None:
    again = [{"ErrorEquals": ["States.QueryEvaluationError"], "Assign": {"ok": True}, "Next": "M"}]
    inside = {"F": succeed("$states.input")}
    items = "{% $exists($ok) ? [1] : $error('first') %}"
    end = ended({"M": each(states=inside, Items=items, Catch=again, Next="E"), "E": END})
    assert (end.output, end.states) == ([1], ["M", "M", "F", "E"])


@pytest.mark.aws(
    "Step Functions Developer Guide, Quotas",
    "256 KiB of data as a UTF-8 encoded string. This quota affects tasks (activity, Lambda function, or",
)
@pytest.mark.aws(unconfirmed="V29")
@pytest.mark.parametrize(("letters", "error"), [(8_000, None), (9_000, "States.DataLimitExceeded")])
def test_results_of_a_map_are_bounded_together(letters: int, error: str | None) -> None:
    """Thirty iterations with 8,000 bytes each are within 262,144 bytes, with 9,000 bytes each they are not."""
    inner = {"I": succeed(f"$pad('', {letters}, 'x')")}
    state = each(items="{% [1..30] %}", states=inner, Output="{% $count($states.result) %}")
    end = ended({"M": state})
    assert (end.error, end.output) == (error, None if error else 30)


@pytest.mark.aws(
    SPEC, "If not provided, the state output is the result in a Task, Map, and Parallel State, or the state input in"
)
def test_the_result_is_the_outputs_of_the_iterations_in_the_order_of_the_items() -> None:
    inside = {"F": task(Arguments="{% $states.input %}")}
    end = ended({"M": each(states=inside)}, ["x", "y"], {"F": [ok("of x"), ok("of y")]})
    assert end.output == ["of x", "of y"]
    assert [call.arguments for call in end.calls] == ["x", "y"]


@pytest.mark.aws(
    recorded=f"{RECORDED}/scenarios/test_base_scenarios.snapshot.json, items_input_types, 2024-11-19",
    says='Map state input must be an array but was: {"foo":"bar"}',
)
def test_a_map_without_items_runs_over_its_input() -> None:
    state = each()
    del state["Items"]
    assert ended({"M": state}, [1, 2]).output == [1, 2]
    assert ended({"M": state}, {"a": 1}).error == "States.QueryEvaluationError"
    assert ended({"M": each(items="{% 1 %}")}, [1]).error == "States.QueryEvaluationError"


@pytest.mark.aws(unconfirmed="V32")
def test_an_iteration_knows_its_item_and_nothing_outside_does() -> None:
    inside = {"F": succeed("$states.context.Map.Item.Index & $states.input")}
    states = {"M": each(states=inside, Assign={"in": "{% $exists($states.context.Map) %}"}, Next="E"), "E": OUTSIDE}
    assert ended(states, ["x", "y"]).output == {"of": ["0x", "1y"], "in": False, "out": False}


@pytest.mark.aws(
    "Step Functions Developer Guide, Map",
    "If any iteration fails, entire Map state fails, and all iterations are terminated",
)
def test_items_after_one_that_failed_are_not_begun_and_a_retry_begins_with_the_first() -> None:
    again = [{"ErrorEquals": ["Oh"], "IntervalSeconds": 7, "MaxAttempts": 1}]
    state = each(states={"F": task(Arguments="{% $states.input %}")}, Retry=again)
    answers = [ok(1), fails("Oh"), ok(2), ok(3), ok(4)]
    end = ended({"M": state}, ["x", "y", "z"], {"F": answers})
    assert (end.output, end.pauses) == ([2, 3, 4], [7])
    assert [call.arguments for call in end.calls] == ["x", "y", "x", "y", "z"]
    assert "MapStateFailed" not in end.types, "an attempt is not the state"


@pytest.mark.aws(
    SPEC,
    "a JSONata string that MUST produce a JSON array",
)
def test_fields_of_a_map_have_a_type() -> None:
    for field in ("MaxConcurrency", "ToleratedFailurePercentage", "ToleratedFailureCount"):
        end = ended({"M": each(**{field: "{% 'many' %}"})}, [1])
        assert end.error == "States.QueryEvaluationError" and field in str(end.cause)


@pytest.mark.aws(
    recorded=f"{RECORDED}/scenarios/test_base_scenarios.snapshot.json, items_eval_jsonata[mixed], 2024-11-20",
    says="an iteration follows the last but one event of that before it; nothing follows MapStateSucceeded",
)
def test_events_of_a_map_follow_as_recorded() -> None:
    end = ended({"M": each(states={"P": pass_on()})}, [1, 2])
    assert [(event["type"], event["previousEventId"]) for event in end.events] == [
        ("MapStateEntered", 0),
        ("MapStateStarted", 1),
        ("MapIterationStarted", 2),
        ("PassStateEntered", 3),
        ("PassStateExited", 4),
        ("MapIterationSucceeded", 5),
        ("MapIterationStarted", 5),
        ("PassStateEntered", 7),
        ("PassStateExited", 8),
        ("MapIterationSucceeded", 9),
        ("MapStateSucceeded", 10),
        ("MapStateExited", 10),
    ]
