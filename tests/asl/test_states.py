"""What the language says of states: machines of two or three, stepped through without a cloud."""

from __future__ import annotations

from typing import Any

import pytest
from asl.small import END, Given, at, ended, fails, ok, pass_on, succeed, task, value

from oncekit.asl.definition import InvalidDefinition, check, why_not
from oncekit.asl.errors import Reading, is_named, read_as
from oncekit.asl.history import iso

SPEC = "Amazon States Language specification"
RECORDED = "LocalStack: tests/aws/services/stepfunctions/v2"
ERRORS = "Step Functions Developer Guide, Handling errors"
QUOTAS = "Step Functions Developer Guide, Quotas"
QUOTA = "256 KiB of data as a UTF-8 encoded string. This quota affects tasks (activity, Lambda function, or"
QUERY = "States.QueryEvaluationError"
TOO_LARGE = "States.DataLimitExceeded"
CAUGHT = succeed("$states.input")
LOOKS = "[$exists($states.result), $exists($states.errorOutput)]"


def caught(*errors: str, to: str = "C", **more: Any) -> list[Given]:
    return [{"ErrorEquals": list(errors), "Next": to, **more}]


def retried(*errors: str, **more: Any) -> Given:
    return {"ErrorEquals": list(errors), **more}


# ---- what a state reads, gives and assigns ----


@pytest.mark.aws(
    SPEC, 'Any variable referenced in an "Assign" field sees its current value as it was when the state was entered'
)
def test_assign_and_output_see_nothing_of_each_other() -> None:
    states = {
        "A": pass_on(Assign={"x": 5, "y": 6}, Next="B"),
        "B": pass_on(Assign={"x": "{% $y %}", "y": "{% $x %}"}, Output="{% [$x, $y] %}", Next="C"),
        "C": succeed("{'B gave': $states.input, 'now': [$x, $y]}"),
    }
    assert ended(states).output == {"B gave": [5, 6], "now": [6, 5]}


@pytest.mark.aws(SPEC, "each variable's new value only takes effect in the next state")
def test_a_variable_that_a_state_assigns_first_is_not_there_in_its_own_output() -> None:
    assert ended({"A": pass_on(Assign={"x": 1}, Output="{% $x %}")}).error == QUERY
    assert ended({"A": pass_on(Assign={"x": 1}, Output="{% $exists($x) %}")}).output is False


@pytest.mark.aws(SPEC, "each variable's new value only takes effect in the next state")
def test_variables_stay_until_they_are_assigned_again() -> None:
    states = {
        "A": pass_on(Assign={"x": 1, "y": 1}, Next="B"),
        "B": pass_on(Assign={"y": 2}, Next="C"),
        "C": succeed("[$x, $y]"),
    }
    assert ended(states).output == [1, 2]


@pytest.mark.aws(
    SPEC, "If not provided, the state output is the result in a Task, Map, and Parallel State, or the state input in"
)
def test_without_an_output_a_task_gives_its_result_and_other_states_their_input() -> None:
    assert ended({"T": task()}, {"in": 1}, {"T": [ok("out")]}).output == "out"
    for state in (pass_on(), END, {"Type": "Wait", "Seconds": 1, "End": True}):
        assert ended({"S": state}, {"in": 1}).output == {"in": 1}


@pytest.mark.aws(SPEC, "If not provided, the arguments are the state input.")
def test_without_arguments_a_task_is_given_the_states_input() -> None:
    assert ended({"T": task()}, {"in": 1}, {"T": [ok(None)]}).calls[0].arguments == {"in": 1}


@pytest.mark.aws(
    SPEC, "if its value, or any value nested inside a JSON object or array, is a JSONata string, the interpreter"
)
def test_expressions_are_evaluated_in_all_members_and_a_text_around_one_is_a_text() -> None:
    arguments = {"a": ["{% 1 + 1 %}", {"b": "{% $states.input %}"}], "c": " {% 1 %}", "d": None, "e": 'a "b" \\ ü'}
    [call] = ended({"T": task(Arguments=arguments)}, "in", {"T": [ok(None)]}).calls
    assert call.arguments == {"a": [2, {"b": "in"}], "c": " {% 1 %}", "d": None, "e": 'a "b" \\ ü'}


@pytest.mark.aws(
    SPEC,
    'A JSONata expression may fail to return a result, for example `"{% $data.thisFieldDoesNotExist %}"`, which is',
)
@pytest.mark.parametrize(
    "expression", ["$states.input.missing", "$nothing", "$states.nothing", "1 + 'a'", "$eval('1')"]
)
def test_an_expression_without_a_value_is_an_error_of_its_field(expression: str) -> None:
    end = ended({"A": pass_on(Output={"deep": ["{% " + expression + " %}"]})}, {})
    assert (end.error, end.types[-1]) == (QUERY, "EvaluationFailed")
    assert end.events[-1]["evaluationFailedEventDetails"]["location"] == "Output/deep[0]"
    assert f"The JSONata expression '{expression}' specified for the field 'Output/deep[0]' " in str(end.cause)


@pytest.mark.aws(SPEC, 'can be referenced in the state\'s top-level "Output" and "Assign" fields.')
@pytest.mark.aws(SPEC, 'can be referenced in a Catcher\'s "Output" and "Assign" fields.')
def test_a_result_is_there_after_a_call_and_an_error_output_in_a_catch() -> None:
    catch = caught("Oh", Assign={"c": "{% " + LOOKS + " %}"}, Output="{% " + LOOKS + " %}")
    looks = "{% " + LOOKS + " %}"
    asks = task(Arguments=looks, Assign={"c": looks}, Output=looks, Catch=catch, Next="C")
    states = {"T": asks, "C": succeed("[[$states.input], [$c], " + LOOKS + "]")}
    succeeded, failed = (ended(states, None, {"T": [each]}) for each in (ok(1), fails("Oh")))
    assert succeeded.output == [[True, False], [True, False], [False, False]]
    assert failed.output == [[False, True], [False, True], [False, False]]
    assert failed.calls[0].arguments == [False, False]


# ---- Choice ----


def choice(**more: Any) -> Given:
    rules = [
        {"Condition": "{% $states.input < 2 %}", "Assign": {"v": "one"}, "Output": "1st", "Next": "E"},
        {"Condition": "{% $states.input < 3 %}", "Next": "E"},
        {"Condition": "{% $states.input < 3 %}", "Output": "never", "Next": "E"},
    ]
    return {"A": {"Type": "Choice", "Choices": rules, **more}, "E": succeed("[$states.input, $exists($v) ? $v : null]")}


@pytest.mark.aws(
    SPEC,
    'If a Choice Rule is chosen, the interpreter evaluates the Choice Rule\'s "Assign" field, if any, and does not',
)
@pytest.mark.aws(
    SPEC, 'If no Choice Rule is chosen, the value of the state\'s top-level "Output" field, if any, will become'
)
@pytest.mark.parametrize(
    ("given", "output"), [(1, ["1st", "one"]), (2, [2, None]), (3, ["of default", "default"])], ids=["1", "2", "none"]
)
def test_a_choice_assigns_and_gives_what_belongs_to_the_rule_that_matched(given: int, output: Any) -> None:
    states = choice(Default="E", Assign={"v": "default", "w": "default"}, Output="of default")
    assert ended(states, given).output == output
    assert ended({**states, "E": succeed("$exists($w)")}, given).output is (given == 3)


@pytest.mark.aws(
    SPEC, "The interpreter will throw a runtime States.NoChoiceMatched error if a Choice State fails to match"
)
def test_a_choice_without_a_default_fails_when_no_rule_matches() -> None:
    assert ended(choice(), 3).error == "States.NoChoiceMatched"
    assert ended(choice(), 1).error is None


@pytest.mark.aws(SPEC, "accepts a boolean value or a JSONata string that must evaluate to a boolean value.")
@pytest.mark.parametrize("condition", ["{% 1 %}", "{% 'true' %}", "{% null %}", "{% $states.input.none %}"])
def test_a_condition_that_is_neither_true_nor_false_is_an_error(condition: str) -> None:
    rules = [{"Condition": condition, "Next": "E"}]
    end = ended({"A": {"Type": "Choice", "Choices": rules, "Default": "E"}, "E": END}, {})
    assert end.error == QUERY and "Choices[0]/Condition" in str(end.cause)
    rules = [{"Condition": True, "Next": "E"}]
    assert ended({"A": {"Type": "Choice", "Choices": rules}, "E": END}, {}).error is None


# ---- Fail, Pass and Wait ----


@pytest.mark.aws(
    SPEC, 'A JSONata Fail State MAY specify JSONata strings for the "Error" and "Cause" fields whose values'
)
def test_a_fail_tells_error_and_cause_that_it_evaluates() -> None:
    end = ended({"F": {"Type": "Fail", "Error": "{% 'E' & $states.input %}", "Cause": "why"}}, 1)
    assert (end.error, end.cause) == ("E1", "why")
    assert ended({"F": {"Type": "Fail"}}).error is None and ended({"F": {"Type": "Fail"}}).types == ["FailStateEntered"]


@pytest.mark.aws(
    SPEC, 'Task States, Parallel States, and Map States MAY have a field named "Catch", whose value MUST be'
)
def test_no_state_but_task_and_map_handles_its_errors() -> None:
    handles = {"Retry": [retried("States.ALL")], "Catch": caught(QUERY)}
    end = ended({"A": pass_on(Output="{% $nothing %}", **handles, Next="C"), "C": END})
    assert (end.error, end.states, end.pauses) == (QUERY, ["A"], [])


@pytest.mark.aws(
    SPEC, "whose value, when evaluated, MUST be a non-negative integer. It MAY specify a JSONata string for the"
)
@pytest.mark.parametrize(
    ("wait", "lasts"),
    [
        ({"Seconds": 10}, 10),
        ({"Seconds": "{% $states.input %}"}, 7),
        ({"Timestamp": iso(at(90))}, 90),
        ({"Timestamp": "{% $fromMillis($millis() + 5000) %}"}, 5),
        ({"Timestamp": iso(at(-90))}, 0),
        ({"Seconds": 0}, 0),
    ],
)
def test_a_wait_lasts_as_long_as_it_says(wait: Given, lasts: float) -> None:
    assert ended({"W": {"Type": "Wait", **wait, "End": True}}, 7).pauses == [lasts]


@pytest.mark.aws(
    recorded=f"{RECORDED}/base/test_wait.snapshot.json, test_timestamp_too_far_in_future_boundary",
    says="States.Runtime: Wait state delay is too long",
)
def test_a_wait_that_is_too_long_is_an_error_before_it_begins() -> None:
    longest = 24_855 * 86_400
    assert ended({"W": {"Type": "Wait", "Timestamp": iso(at(longest)), "End": True}}).pauses == [longest]
    end = ended({"W": {"Type": "Wait", "Timestamp": iso(at(longest + 86_400)), "End": True}})
    assert (end.error, end.pauses) == ("States.Runtime", [])


@pytest.mark.aws("Step Functions Developer Guide, Wait", "must evaluate to an integer in the stated range")
@pytest.mark.parametrize("seconds", [-1, 1.5, 100_000_000, "3"])
def test_a_wait_of_no_number_of_seconds_is_an_error(seconds: Any) -> None:
    end = ended({"W": {"Type": "Wait", "Seconds": "{% $states.input %}", "End": True}}, seconds)
    assert (end.error, end.pauses) == (QUERY, [])


@pytest.mark.aws(
    SPEC, 'with the further restrictions that an uppercase "T" character MUST be used to separate date and time'
)
@pytest.mark.parametrize("when", ["2023-11-14 22:13:20Z", "2023-11-14T22:13:20", "2023-W46-2T22:13:20Z", "{% 'now' %}"])
def test_a_timestamp_that_is_none_is_an_error(when: str) -> None:
    end = ended({"W": {"Type": "Wait", "Timestamp": when, "End": True}})
    assert (end.error, end.pauses) == (QUERY, [])
    failed = end.events[-1]
    assert (failed["previousEventId"], failed["evaluationFailedEventDetails"]["location"]) == (1, "Timestamp")


# ---- retries ----


@pytest.mark.aws(
    SPEC, 'representing the maximum number of retry attempts (default: 3); a field named "MaxDelaySeconds" whose'
)
def test_a_retrier_without_numbers_tries_three_times_after_one_two_and_four_seconds() -> None:
    states = {"T": task(Retry=[retried("Oh")])}
    assert ended(states, None, {"T": [fails("Oh")] * 3 + [ok(1)]}).pauses == [1, 2, 4]
    end = ended(states, None, {"T": [fails("Oh")] * 4})
    assert (end.error, end.pauses) == ("Oh", [1, 2, 4])


@pytest.mark.aws(
    SPEC, "with a maximum limit of 4 seconds on the retry interval. In this case the Retrier will make the second"
)
def test_retries_wait_longer_each_time_up_to_the_longest() -> None:
    retrier = retried("Oh", IntervalSeconds=100, BackoffRate=3, MaxDelaySeconds=500, MaxAttempts=4)
    end = ended({"T": task(Retry=[retrier])}, None, {"T": [fails("Oh")] * 4 + [ok(1)]})
    assert (end.error, end.pauses) == (None, [100, 300, 500, 500])


@pytest.mark.aws(
    "Step Functions Developer Guide, Handling errors",
    "Jitter reduces simultaneous retry attempts by spreading these out over a randomized delay interval.",
)
def test_full_jitter_is_anything_up_to_the_delay() -> None:
    retrier = retried("Oh", IntervalSeconds=8, BackoffRate=1, MaxAttempts=50, JitterStrategy="FULL")
    pauses = ended({"T": task(Retry=[retrier])}, None, {"T": [fails("Oh")] * 50 + [ok(1)]}).pauses
    assert min(pauses) < 2 and 6 < max(pauses) <= 8 and len(set(pauses)) > 40
    retrier["JitterStrategy"] = "NONE"
    assert ended({"T": task(Retry=[retrier])}, None, {"T": [fails("Oh"), ok(1)]}).pauses == [8]


@pytest.mark.aws(SPEC, "The first two errors match the first retrier and cause waits of one and two seconds.")
def test_each_retrier_counts_its_own_attempts() -> None:
    retry = [
        retried("ErrorA", "ErrorB", IntervalSeconds=1, BackoffRate=2, MaxAttempts=2),
        retried("ErrorC", IntervalSeconds=5),
    ]
    answers = [fails(f"Error{letter}") for letter in "ABCB"]
    end = ended({"X": task(Retry=retry, Catch=caught("States.ALL", to="Z"), Next="Z"), "Z": END}, None, {"X": answers})
    assert (end.pauses, end.states) == ([1, 2, 5], ["X", "Z"])
    assert end.output == {"Error": "ErrorB", "Cause": ""}


@pytest.mark.aws(
    SPEC, "once the interpreter transitions to another state in any way, all the Retrier parameters reset."
)
def test_a_state_that_is_entered_again_has_all_its_attempts() -> None:
    again = {"Type": "Choice", "Choices": [{"Condition": "{% $states.context.State.Name = 'A' %}", "Next": "T"}]}
    retry = [retried("Oh", MaxAttempts=1)]
    states = {"T": task(Retry=retry, Catch=caught("Oh", to="A"), Next="E"), "A": again, "E": END}
    end = ended(states, None, {"T": [fails("Oh")] * 3 + [ok(1)]})
    assert (end.pauses, end.states) == ([1, 1], ["T", "A", "T", "E"])


@pytest.mark.aws(SPEC, "field whose value is 0 is legal, specifying that some error or errors should never be retried.")
def test_an_error_that_is_never_to_be_retried_is_not_asked_of_the_next_retrier() -> None:
    retry = [retried("States.Timeout", MaxAttempts=0), retried("States.ALL")]
    assert ended({"T": task(Retry=retry)}, None, {"T": [fails("States.Timeout")]}).pauses == []
    assert ended({"T": task(Retry=retry)}, None, {"T": [fails("Oh"), ok(1)]}).pauses == [1]


@pytest.mark.aws(unconfirmed="V102")
def test_each_attempt_evaluates_arguments_and_timeouts_anew() -> None:
    count = "{% $states.context.State.RetryCount %}"
    limits = {"TimeoutSeconds": "{% 10 + $states.context.State.RetryCount %}", "HeartbeatSeconds": 5}
    states = {"T": task(Arguments={"n": count, "at": "{% $millis() %}"}, **limits, Retry=[retried("Oh")])}
    calls = ended(states, None, {"T": [fails("Oh"), fails("Oh"), ok(1)]}).calls
    assert [(call.arguments["n"], call.timeout, call.heartbeat) for call in calls] == [
        (0, 10, 5), (1, 11, 5), (2, 12, 5),
    ]  # fmt: skip
    assert [call.arguments["at"] for call in calls] == [at(seconds) * 1000 for seconds in (0, 1, 3)]


@pytest.mark.aws(
    SPEC, "Task, Map, and Parallel states MAY use a Retrier to retry on the error, and a Catcher to catch the"
)
@pytest.mark.parametrize("field", ["Arguments", "Output", "Assign", "TimeoutSeconds"])
def test_an_expression_of_a_task_that_fails_is_retried_and_caught(field: str) -> None:
    wrong: Any = {"x": "{% $nothing %}"} if field == "Assign" else "{% $nothing %}"
    asks = task(**{field: wrong}, Retry=[retried(QUERY, MaxAttempts=1)], Catch=caught(QUERY), Next="C")
    end = ended({"T": asks, "C": succeed("$states.input.Error")}, None, {"T": [ok(1)] * 2})
    assert (end.output, end.pauses) == (QUERY, [1])


@pytest.mark.aws(SPEC, "because TimeoutSeconds requires a number.")
@pytest.mark.parametrize("wrong", ["{% 'ten' %}", "{% true %}"])
def test_a_timeout_that_is_no_number_is_an_error(wrong: str) -> None:
    assert ended({"T": task(TimeoutSeconds=wrong)}, None, {}).error == QUERY


# ---- catches ----


@pytest.mark.aws(SPEC, "only applies the matching Catcher transition if the retry policy fails to resolve the error.")
@pytest.mark.aws(SPEC, "the interpreter scans through the Catchers in array order, and when the")
def test_the_first_catch_that_names_an_error_counts_after_the_retries() -> None:
    catch = [*caught("Other"), *caught("Oh", Output="1st"), *caught("Oh", Output="2nd"), *caught("States.ALL")]
    states = {"T": task(Retry=[retried("Oh", MaxAttempts=1)], Catch=catch, Next="C"), "C": CAUGHT}
    end = ended(states, None, {"T": [fails("Oh"), fails("Oh")]})
    assert (end.output, end.pauses) == ("1st", [1])


@pytest.mark.aws(
    SPEC, "evaluates the matching Catcher's \"Assign\" field, if any, and does not evaluate the state's top-level"
)
@pytest.mark.aws(SPEC, 'If the "Output" field is not provided, the state output is the Error Output.')
def test_a_catch_assigns_its_own_and_gives_the_error_output() -> None:
    catch = caught("Oh", Assign={"why": "{% $states.errorOutput.Cause %}"})
    states = {
        "T": task(Assign={"x": "of the state", "why": "no"}, Output="of the state", Catch=catch, Next="C"),
        "C": succeed("[$states.input, $why, $exists($x)]"),
    }
    assert ended(states, None, {"T": [fails("Oh", "since")]}).output == [
        {"Error": "Oh", "Cause": "since"}, "since", False,
    ]  # fmt: skip


@pytest.mark.aws(
    SPEC, "When a state reports an error, the default course of action for the interpreter is to fail the whole"
)
def test_an_error_that_nothing_names_ends_the_execution_with_its_cause() -> None:
    states = {"T": task(Catch=caught("Other"), Next="C"), "C": END}
    end = ended(states, None, {"T": [fails("Oh", "since")]})
    assert (end.error, end.cause, end.states) == ("Oh", "since", ["T"])


@pytest.mark.aws(ERRORS, "acts as a wildcard that matches any known error name except for States.Timeout")
@pytest.mark.aws(
    ERRORS, "must appear alone in a Catcher and cannot catch the States.DataLimitExceeded terminal error or Runtime"
)
@pytest.mark.parametrize(
    ("name", "error", "caught"),
    [
        ("States.TaskFailed", "Mine", True),
        ("States.TaskFailed", "States.Permissions", True),
        ("States.TaskFailed", "States.Timeout", False),
        ("States.TaskFailed", "States.DataLimitExceeded", False),
        ("States.TaskFailed", "States.Runtime", False),
        ("States.ALL", "Mine", True),
        ("States.ALL", "States.Timeout", True),
        ("States.ALL", "States.Runtime", False),
        ("States.ALL", "States.DataLimitExceeded", False),
        ("States.DataLimitExceeded", "States.DataLimitExceeded", True),
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
def test_wildcards_match_what_was_recorded_where_a_test_says_so() -> None:
    with read_as(Reading(all_has_data_limit=True, runtime_is_caught=False)):
        assert is_named({"States.ALL"}, "States.DataLimitExceeded")
        assert not is_named({"States.ALL"}, "States.Runtime")
        assert not is_named({"States.Runtime"}, "States.Runtime")
    assert not is_named({"States.ALL"}, "States.DataLimitExceeded")


# ---- sizes ----


def of_bytes(count: int) -> str:
    """A text that is so long as JSON."""
    return "x" * (count - 2)


MOST = 262_144


@pytest.mark.aws(QUOTAS, QUOTA)
@pytest.mark.parametrize(("more", "error"), [(0, None), (1, TOO_LARGE)])
def test_outputs_arguments_and_answers_have_at_most_256_kib(more: int, error: str | None) -> None:
    text = of_bytes(MOST + more)
    assert ended({"A": pass_on(Output="{% $states.input %}")}, text).error == error
    assert ended({"T": task(Arguments=text)}, None, {"T": [ok(1)]}).error == error
    assert ended({"T": task(Output=1)}, None, {"T": [ok(text)]}).error == error


@pytest.mark.aws(QUOTAS, QUOTA)
def test_size_is_counted_in_bytes() -> None:
    assert value("$pad('', 100000, 'ü')") == "ü" * 100_000
    assert value("$pad('', 140000, 'ü')") == TOO_LARGE


@pytest.mark.aws(QUOTAS, QUOTA)
@pytest.mark.aws(unconfirmed="V33")
def test_variables_over_256_kib_are_refused_by_name() -> None:
    half = "{% $pad('', 140000, 'x') %}"
    assert ended({"A": pass_on(Assign={"v": half})}).error is None
    assert ended({"A": pass_on(Assign={"v": half, "w": half})}).error == TOO_LARGE


@pytest.mark.ours
def test_an_answer_just_under_the_limit_ends_the_execution_where_no_catch_sees_it() -> None:
    """Seen on AWS (cdklabs/construct-hub#1885), which adds metadata; how much is unconfirmed. No Task of the machines
    passes its raw answer on."""
    answer = of_bytes(MOST - 500)
    for output, error in (({}, TOO_LARGE), ({"Output": {}}, None)):
        asks = task(Catch=caught(TOO_LARGE), Next="End", **output)
        end = ended({"T": asks, "End": END, "C": END}, None, {"T": [ok(answer)]})
        assert end.error == error and "C" not in end.states
        assert "TaskSucceeded" in end.types


@pytest.mark.aws(QUOTAS, QUOTA)
def test_an_answer_over_the_limit_is_caught_by_its_name_alone() -> None:
    large = {"T": [ok(of_bytes(MOST + 1))]}
    for name, states in (("States.ALL", ["T"]), (TOO_LARGE, ["T", "C"])):
        end = ended({"T": task(Output=1, Catch=caught(name), Next="C"), "C": END}, None, large)
        assert end.states == states and "TaskFailed" in end.types


# ---- history ----


@pytest.mark.aws(
    recorded=f"{RECORDED}/arguments/test_arguments.snapshot.json, test_base_cases[BASE_LAMBDA_EMPTY], 2024-11-04",
    says="LambdaFunctionScheduled has the previousEventId 2, LambdaFunctionStarted has 3",
)
def test_events_follow_one_another() -> None:
    states = {
        "A": pass_on(Next="T"),
        "T": task("dynamodb:getItem", Arguments={"a": 1}, Retry=[retried("Oh")], TimeoutSeconds=9),
    }
    end = ended(states, None, {"T": [fails("Oh", "since"), fails("States.Timeout")]})
    assert end.types == [
        "PassStateEntered", "PassStateExited", "TaskStateEntered", "TaskScheduled", "TaskStarted", "TaskFailed",
        "TaskScheduled", "TaskStarted", "TaskTimedOut",
    ]  # fmt: skip
    assert [event["previousEventId"] for event in end.events] == list(range(len(end.events)))
    assert [event["id"] for event in end.events] == list(range(1, len(end.events) + 1))
    assert end.events[3]["taskScheduledEventDetails"] == {
        "resource": "getItem", "resourceType": "dynamodb", "region": "us-east-1", "parameters": '{"a":1}',
        "timeoutInSeconds": 9,
    }  # fmt: skip
    assert end.events[5]["taskFailedEventDetails"] == {
        "resource": "getItem", "resourceType": "dynamodb", "error": "Oh", "cause": "since",
    }  # fmt: skip


@pytest.mark.aws(
    recorded=f"{RECORDED}/assign/test_assign_reference_variables.snapshot.json, test_undefined_reference",
    says="EvaluationFailed follows the event before that of the state's beginning",
)
def test_the_failure_of_an_expression_follows_what_came_before_its_state() -> None:
    end = ended({"A": pass_on(Next="B"), "B": pass_on(Output="{% $nothing %}")})
    assert [(each["type"], each["previousEventId"]) for each in end.events[2:]] == [
        ("PassStateEntered", 2), ("EvaluationFailed", 2),
    ]  # fmt: skip


@pytest.mark.aws(
    recorded=f"{RECORDED}/services/test_lambda_task.snapshot.json, test_invoke_json_values, 2025-11-06",
    says="LambdaFunctionScheduled with input and resource, LambdaFunctionStarted without details",
)
def test_a_function_by_its_own_arn_has_events_of_its_own() -> None:
    arn = "arn:aws:lambda:us-east-1:123456789012:function:f"
    end = ended({"T": {**task(), "Resource": arn}}, {"a": 1}, {"T": [ok(2)]})
    assert end.types[1:4] == ["LambdaFunctionScheduled", "LambdaFunctionStarted", "LambdaFunctionSucceeded"]
    scheduled, started, succeeded = end.events[1:4]
    assert scheduled["lambdaFunctionScheduledEventDetails"] == {
        "resource": arn, "input": '{"a":1}', "inputDetails": {"truncated": False},
    }  # fmt: skip
    assert "lambdaFunctionStartedEventDetails" not in started
    assert succeeded["lambdaFunctionSucceededEventDetails"]["output"] == "2"


@pytest.mark.aws(
    recorded=f"{RECORDED}/assign/test_assign_reference_variables.snapshot.json, test_assign_in_wait_state",
    says="assignedVariables: foo is a text of JSON, with its quotes",
)
def test_the_end_of_a_state_tells_its_output_and_what_it_assigned() -> None:
    end = ended({"A": pass_on(Assign={"v": "{% 'é' & 1 %}"}, Output=[1])})
    assert end.events[-1]["stateExitedEventDetails"] == {
        "name": "A", "output": "[1]", "outputDetails": {"truncated": False},
        "assignedVariables": {"v": '"é1"'}, "assignedVariablesDetails": {"truncated": False},
    }  # fmt: skip


# ---- expressions ----


@pytest.mark.aws(unconfirmed="V31")
@pytest.mark.parametrize(
    ("expression", "given", "expected"),
    [
        ("$states.input", 'a "quoted" \\ text', 'a "quoted" \\ text'),
        (
            "$hash($states.input, 'SHA-256')",
            "abc",
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        ),
        ("$hash($states.input, 'MD5')", "abc", "900150983cd24fb0d6963f7d28e17f72"),
        ("$hash($states.input, 'SHA-1')", "abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
        ("[$map(['384', '512'], function($n) { $length($hash('abc', 'SHA-' & $n)) })]", None, [96, 128]),
        ("$hash($states.input, 'CRC')", "abc", QUERY),
        ("$parse($states.input)", '{"a": [1]}', {"a": [1]}),
        ("$parse($states.input)", "{", QUERY),
        ("$exists($parse($states.input))", "NaN", QUERY),
        ("$length($uuid())", None, 36),
        ("$uuid() = $uuid()", None, False),
        ("$random() = $random()", None, False),
        ("$random(7) = $random(7)", None, True),
        ("$partition([1, 2, 3, 4, 5], 2)", None, [[1, 2], [3, 4], [5]]),
        ("$partition([1, 2], 0)", None, QUERY),
        ("$range(1, 7, 3)", None, [1, 4, 7]),
        ("$range(1, 6, 3)", None, [1, 4]),
        ("$range(3, 1, -1)", None, [3, 2, 1]),
        ("$range(1, 2, 0)", None, QUERY),
        ("$range(1, 1e9, 1)", None, QUERY),
        ("function($x) { $x }", None, QUERY),
    ],
)
def test_expression_has_the_value_that_jsonata_gives_it(expression: str, given: Any, expected: Any) -> None:
    assert value(expression, given) == expected


@pytest.mark.aws(unconfirmed="V31")
def test_an_expression_has_one_time_and_it_is_that_of_the_clock() -> None:
    states = {"W": {"Type": "Wait", "Seconds": 86_400, "Next": "E"}, "E": succeed("[$millis(), $toMillis($now())]")}
    assert ended(states).output == [at(86_400) * 1000] * 2


# ---- what runs here ----


@pytest.mark.ours
def test_a_machine_runs_here_unless_a_state_of_it_cannot() -> None:
    def machine(state: Given, language: str | None = "JSONata") -> Given:
        named = {} if language is None else {"QueryLanguage": language}
        return {**named, "StartAt": "S", "States": {"S": state, "E": END}}

    inner = machine({**task("batch:submitJob.sync"), "End": True}, None)
    for state, reason in (
        (task(), None),
        ({**pass_on(), "QueryLanguage": "JSONPath"}, "the state S is in JSONPath; only JSONata runs here"),
        (task("lambda:invoke.waitForTaskToken"), "the state S waits for a callback"),
        ({**task(), "Resource": "arn:aws:states:us-east-1:1:activity:a"}, "the state S waits for a callback"),
        (task("states:startExecution.sync:2"), "the state S waits for a job to end"),
        ({"Type": "Parallel", "Branches": [], "End": True}, "the state S is a Parallel"),
        ({"Type": "Map", "ItemProcessor": inner, "End": True}, "the state S waits for a job to end"),
        (
            {"Type": "Map", "ItemProcessor": {**machine(END), "ProcessorConfig": {"Mode": "DISTRIBUTED"}}, "End": True},
            "the state S is a distributed Map",
        ),
    ):
        check(machine(state))
        assert why_not(machine(state)) == reason
    assert why_not(machine(pass_on(), None)) == "the state S is in JSONPath; only JSONata runs here"


@pytest.mark.ours
def test_a_definition_that_leads_nowhere_is_refused_wherever_it_does() -> None:
    way = {"Condition": True, "Next": "gone"}
    inner = {"StartAt": "gone", "States": {}}
    for state in (
        pass_on(Next="gone"),
        task(Catch=caught("States.ALL", to="gone")),
        {"Type": "Choice", "Choices": [way]},
        {"Type": "Choice", "Choices": [], "Default": "gone"},
        {"Type": "Map", "ItemProcessor": inner, "End": True},
        {"Type": "Parallel", "Branches": [inner], "End": True},
    ):
        with pytest.raises(InvalidDefinition, match="there is no state 'gone'"):
            check({"StartAt": "S", "States": {"S": state}})


@pytest.mark.aws(unconfirmed="V31")
def test_an_answer_that_is_null_is_null_and_not_nothing() -> None:
    asked = {"Type": "Task", "Resource": "arn:aws:lambda:us-east-1:1:function:f", "End": True}
    end = ended(
        {"T": {**asked, "Output": "{% [$states.result = null, $exists($states.result)] %}"}},
        answers={"T": [("ok", None)]},
    )
    assert end.output == [True, True]


@pytest.mark.aws(unconfirmed="V31")
def test_a_sort_by_a_function_is_by_that_function() -> None:
    expression = "{% $sort($states.input, function($a, $b) { $a.n < $b.n }).n %}"
    assert ended({"S": {"Type": "Succeed", "Output": expression}}, [{"n": 1}, {"n": 3}, {"n": 2}]).output == [3, 2, 1]
