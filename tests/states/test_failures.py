"""What becomes of each failure of business logic, and what is kept of its words."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from one_state import ME, NOW, State, Way

States = Callable[..., State]
REQUEST = {"id": "acme#charge#k", "operation": "charge", "tenant": "acme", "function": "once_op-charge:live"}


def classified(state: States, name: str, on_crash: str = "retry", attempts: int = 1, **known: bool) -> Way:
    lock = {"fence": 3, "attempts": attempts, "onCrash": on_crash, "leaseExpiresAt": NOW}
    told = {"throttled": False, "hasNoFunction": False, "hasTime": True, **known}
    variables = {"failure": {"name": name, "message": "m"}, "lock": lock, "request": REQUEST}
    return state("ClassifyFailure").chooses({**variables, **told})


@pytest.mark.parametrize("on_crash", ["retry", "quarantine"])
@pytest.mark.parametrize("attempts", [1, 5])
def test_a_decision_of_business_logic_is_followed_whatever_the_policy(
    on_crash: str, attempts: int, state: States
) -> None:
    policy = {"on_crash": on_crash, "attempts": attempts}
    assert classified(state, "PermanentError", **policy) == Way("RecordFailure")  # type: ignore[arg-type]
    assert classified(state, "LockLostError", **policy) == Way("ReadRecord")  # type: ignore[arg-type]
    throttled = classified(state, "Lambda.TooManyRequestsException", throttled=True, **policy)  # type: ignore[arg-type]
    assert throttled == Way("BackOff"), "nothing was started"
    told_before = classified(state, "LockLostError", throttled=True, hasNoFunction=True, **policy)  # type: ignore[arg-type]
    assert told_before == Way("ReadRecord"), "what business logic said comes first"


MINE = {"owner": ME, "fence": "3", "lease": str(NOW)}


@pytest.mark.parametrize(
    "name", ["NeedsAttention", "States.DataLimitExceeded", "States.QueryEvaluationError", "States.Runtime"]
)
def test_what_may_have_succeeded_is_for_the_operator(name: str, state: States) -> None:
    assert classified(state, name) == Way("KeepRequest", {"about": MINE})


def test_any_other_error_is_tried_again_as_long_as_policy_and_attempts_allow(state: States) -> None:
    own = ("Lambda.TooManyRequestsException", "Lambda.ResourceNotFoundException")  # names that a function gave
    for name in ("RuntimeError", "States.Timeout", "Lambda.Unknown", *own):
        assert classified(state, name, attempts=4) == Way("BackOff")
        assert classified(state, name, attempts=5) == Way("KeepRequest", {"about": MINE})
        assert classified(state, name, attempts=6) == Way("KeepRequest", {"about": MINE})
        assert classified(state, name, on_crash="quarantine") == Way("KeepRequest", {"about": MINE})


def failed(state: States, error: str, cause: str, ran: bool = False) -> dict[str, Any]:
    way = state("ExecuteBusinessLogic").fails(error, {"ran": ran}, cause)
    assert way is not None
    assert way.to == "ClassifyFailure"
    return way.assigned


@pytest.mark.parametrize("error", ["States.DataLimitExceeded", "States.Runtime", "States.QueryEvaluationError"])
def test_a_result_that_cannot_be_kept_was_run_for(error: str, state: States) -> None:
    known = failed(state, error, "x" * 900)
    told = (known["ran"], known["throttled"], known["hasNoFunction"], known["hasTime"], known["failure"]["name"])
    assert told == (True, False, False, True, error)
    message = "business logic may have succeeded, but its result cannot be kept: "
    assert known["failure"]["message"] == message + "x" * 400


@pytest.mark.parametrize(
    ("error", "ran", "throttled", "missing"),
    [
        ("Lambda.TooManyRequestsException", False, True, False),
        ("Lambda.ResourceNotFoundException", False, False, True),
        ("States.Timeout", True, False, False),
        ("RuntimeError", True, False, False),
    ],
)
def test_an_error_says_whether_business_logic_ran(
    error: str, ran: bool, throttled: bool, missing: bool, state: States
) -> None:
    known = failed(state, error, "Rate Exceeded. (Service: AWSLambda; Status Code: 429)")
    assert (known["ran"], known["throttled"], known["hasNoFunction"]) == (ran, throttled, missing)
    message = "Rate Exceeded. (Service: AWSLambda; Status Code: 429)"
    assert known["failure"] == {"name": error, "message": message, "status": 0}
    assert failed(state, error, "c", ran=True)["ran"] is True
    assert known["hasTime"] is True, "a day is long enough"


@pytest.mark.parametrize("error", ["Lambda.TooManyRequestsException", "Lambda.ResourceNotFoundException"])
def test_a_sentence_of_lambdas_may_have_braces(error: str, state: States) -> None:
    known = failed(state, error, "Rate Exceeded. (Details: {})")
    mine = error == "Lambda.TooManyRequestsException"
    assert (known["ran"], known["throttled"], known["hasNoFunction"]) == (False, mine, not mine)


@pytest.mark.parametrize("error", ["Lambda.TooManyRequestsException", "Lambda.ResourceNotFoundException"])
@pytest.mark.parametrize("message", ["Rate Exceeded. (Service: AWSLambda; Status Code: 429)", "", "x" * 40_000])
def test_a_function_that_calls_its_own_error_as_lambda_would_has_run(error: str, message: str, state: States) -> None:
    cause = json.dumps({"errorMessage": message, "errorType": error, "stackTrace": []})[:32_768]
    for told in (cause, f"\n\t {cause}"):  # a runtime of somebody's own may write it otherwise
        known = failed(state, error, told)
        assert (known["ran"], known["throttled"], known["hasNoFunction"]) == (True, False, False)


@pytest.mark.parametrize(
    ("cause", "message"),
    [
        ('{"errorMessage": "no card", "errorType": "E"}', "no card"),
        ('{"errorMessage": "half', '{"errorMessage": "half'),
        ('text with "errorMessage"}', 'text with "errorMessage"}'),
        ('{"message": "other"}', '{"message": "other"}'),
        ("", "the error came without a cause"),
        ('{"errorMessage": ""}', "the error came without a cause"),
        ("y" * 900, "y" * 500),
        (f'{{"errorMessage": "{"z" * 900}"}}', "z" * 500),
        ('{"errorMessage": "a\\"b\\\\ \\u00e9", "x": {}}', 'a"b\\ é'),
        ('{"stackTrace": ["x"], "errorMessage" : "no"}', "no"),
        ('{"errorMessage": "cut off in a brace }', "cut off in a brace }"),
        ('{"errorMessage": "no escape \\x }', "no escape "),
        ('{"errorMessage": 5}', '{"errorMessage": 5}'),
        ('{"errorMessage": "\\ud83d\\ude00 whole"}', "😀 whole"),
        ('{"errorMessage": "half\\ud83d"}', "half?"),
        ("half\udc00", "half?"),
    ],
)
def test_the_message_of_an_error_is_what_business_logic_said_shortened(cause: str, message: str, state: States) -> None:
    assert failed(state, "E", cause)["failure"]["message"] == message


@pytest.mark.parametrize("error", ["E", "States.QueryEvaluationError", "States.Runtime"])
def test_an_error_with_half_a_character_can_be_written_down(error: str, state: States) -> None:
    failure = failed(state, error, '{"errorMessage": "é\ud800"}')["failure"]
    assert "\ud800" not in failure["message"] and failure["message"].isascii()
    assert failed(state, "E\udfff", "c")["failure"]["name"] == "E?"
