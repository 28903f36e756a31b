"""What is kept of the words of an error, and whether it says that business logic ran."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from one_state import MAX_ATTEMPTS, State, states_of

States = Callable[..., State]
LOCK = {"fence": 3, "attempts": 1, "onCrash": "retry", "leaseExpiresAt": 0}
LAMBDAS = ("Lambda.TooManyRequestsException", "Lambda.ResourceNotFoundException")


def failed(state: States, error: str, cause: str) -> dict[str, Any]:
    """What is known after an error of business logic."""
    way = state("ExecuteBusinessLogic").fails(error, {"lock": LOCK}, cause)
    assert way.to == "ClassifyFailure"
    return way.assigned


@pytest.mark.parametrize("error", ["States.DataLimitExceeded", "States.Runtime", "States.QueryEvaluationError"])
def test_a_result_that_cannot_be_kept_was_run_for(error: str, state: States) -> None:
    known = failed(state, error, "x" * 900)
    assert (known["ran"], known["raised"], known["failure"]["name"]) == (True, True, "ResultUnreadable")
    message = "business logic may have succeeded, but its result cannot be kept: "
    assert known["failure"]["message"] == message + "x" * 400


def test_a_machine_can_be_created_where_a_young_field_of_a_call_is_not_known(state: States) -> None:
    """CreateStateMachine checks the fields of SDK integrations in an object, not what an expression makes (V88)."""
    assert isinstance(state("CheckOwner").raw["Arguments"], str)


@pytest.mark.parametrize("end", ["", "Exception"])
@pytest.mark.parametrize("prefix", ["StepFunctions", "Sfn"])
@pytest.mark.parametrize(
    ("machine", "starts", "to"),
    [
        ("fast", "HandOver", "ExistingStatus"),
        ("fast", "RefuseInFullLane", "RequestRefused"),
        ("recovery", "StartRecovery", "NothingToDo"),
    ],
)
def test_a_start_whose_name_is_taken_was_made_however_aws_spells_it(
    machine: str, starts: str, to: str, prefix: str, end: str, of: States
) -> None:
    state = of(machine, starts)
    error = f"{prefix}.ExecutionAlreadyExists{end}"
    clauses = [each for each in state.raw.get("Retry", []) if {error, "States.ALL"} & set(each["ErrorEquals"])]
    assert not clauses or clauses[0]["MaxAttempts"] == 0
    assert state.fails(error, {}).to == to


@pytest.mark.parametrize("error", [*LAMBDAS, "States.Timeout", "RuntimeError"])
def test_an_error_without_json_is_not_said_by_business_logic(error: str, state: States) -> None:
    message = "Rate Exceeded. (Service: AWSLambda; Status Code: 429; Details: {})"
    known = failed(state, error, message)
    assert known["raised"] is False
    assert known["failure"] == {"name": error, "message": message, "status": 0}


@pytest.mark.parametrize("error", LAMBDAS)
@pytest.mark.parametrize(
    "message", ["Rate Exceeded. (Service: AWSLambda; Status Code: 429)", "", "x" * 40_000], ids=len
)
def test_a_function_that_calls_its_own_error_as_lambda_would_has_run(error: str, message: str, state: States) -> None:
    cause = json.dumps({"errorMessage": message, "errorType": error, "stackTrace": []})[:32_768]
    known = failed(state, error, cause)
    assert (known["ran"], known["raised"]) == (True, True)


@pytest.mark.parametrize(
    ("cause", "message"),
    [
        ('{"errorMessage": "no card", "errorType": "E"}', "no card"),
        ('{"errorMessage": "half', '{"errorMessage": "half'),
        ('text with "errorMessage"}', 'text with "errorMessage"}'),
        ('text with {"errorMessage": "x"}', 'text with {"errorMessage": "x"}'),
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
    ids=ascii,
)
def test_the_message_of_an_error_is_what_business_logic_said_shortened(cause: str, message: str, state: States) -> None:
    assert failed(state, "E", cause)["failure"]["message"] == message


BYTES_OF_AN_ERROR = 530
"""Of name and message, with which a record that keeps its request, too, stays within 4 KiB."""


@pytest.mark.parametrize("text", ["é", "日", "😀", "a😀", "日本 ", "\x01"], ids=ascii)
@pytest.mark.parametrize("error", ["E", "F" * 256, "日" * 256, "States.QueryEvaluationError"], ids=len)
def test_an_error_in_any_language_leaves_the_record_small(text: str, error: str, state: States) -> None:
    for cause in (text * 900, json.dumps({"errorMessage": text * 900}), json.dumps({"errorMessage": text * 40})):
        failure = failed(state, error, cause)["failure"]
        assert len(f"{failure['name']}{failure['message']}".encode()) <= BYTES_OF_AN_ERROR
        assert len(failure["message"]) >= 25 and "\ud83d" not in failure["message"]


def test_one_character_outside_ascii_does_not_shorten_a_message_much(state: States) -> None:
    assert failed(state, "E", "it’s " + "x" * 900)["failure"]["message"].startswith("it’s " + "x" * 450)
    assert failed(state, "E", "x" * 480 + "é")["failure"]["message"] == "x" * 480 + "é"


@pytest.mark.parametrize("error", ["E", "States.QueryEvaluationError", "States.Runtime"])
def test_an_error_with_half_a_character_can_be_written_down(error: str, state: States) -> None:
    failed(state, error, '{"errorMessage": "é\ud800"}')["failure"]["message"].encode()
    assert failed(state, "E\udfff", "c")["failure"]["name"] == "E?"


@pytest.mark.parametrize(
    ("error", "message", "status", "left"),
    [
        ("PermanentError", "[402] declined", 402, "declined"),
        ("PermanentError", "[499] x", 499, "x"),
        ("PermanentError", "[500] x", 0, "[500] x"),
        ("PermanentError", "[402]x", 0, "[402]x"),
        ("PermanentError", "x [402] y", 0, "x [402] y"),
        ("RuntimeError", "[402] x", 0, "[402] x"),
    ],
)
def test_the_status_of_a_permanent_error_is_taken_off_its_message(
    error: str, message: str, status: int, left: str, state: States
) -> None:
    cause = json.dumps({"errorMessage": message, "errorType": error, "stackTrace": ['"errorMessage":"[444] x"']})
    assert failed(state, error, cause)["failure"] == {"name": error, "status": status, "message": left}


@pytest.mark.parametrize(
    ("name", "message", "to"),
    [
        ("Runtime.MarshalError", "Unable to marshal response", "RecordQuarantine"),
        ("Runtime.JSONStringifyError", "circular", "RecordQuarantine"),
        ("Function.ResponseSizeTooLarge", "6 MB", "RecordQuarantine"),
        ("Error", "Unable to stringify response body", "RecordQuarantine"),
        ("Error", "Unable to reach the bank", "TakeNextFence"),
        ("BankError", "Unable to stringify response body", "TakeNextFence"),
        ("Runtime.ImportModuleError", "No module named 'x'", "TakeNextFence"),
    ],
)
def test_what_lambda_says_after_the_function_returned_is_not_run_again(
    name: str, message: str, to: str, state: States
) -> None:
    """It would give the same; whatever else a function or Lambda says may pass."""
    known = {"failure": {"name": name, "message": message}, "raised": True, "function": "my-charge:live", "lock": LOCK}
    way = state("ClassifyFailure").chooses(known)
    assert way.to == to
    assert to == "TakeNextFence" or message in way.assigned["failure"]["message"]


def leads(state: States, name: str, on_crash: str = "retry", attempts: int = 1, **more: Any) -> str:
    """Where an error of business logic leads."""
    known = {"raised": True, "function": "my-charge:live", "failure": {"name": name, "message": "x"}, **more}
    return state("ClassifyFailure").chooses({**known, "lock": {**LOCK, "onCrash": on_crash, "attempts": attempts}}).to


def test_what_an_error_decides_is_done_whatever_oncrash_says(state: States) -> None:
    for on_crash in ("retry", "quarantine"):
        assert leads(state, "PermanentError", on_crash) == "RecordFailure"
        assert leads(state, "LockLostError", on_crash) == "ReadRecord"
        assert leads(state, "NeedsAttention", on_crash) == "RecordQuarantine"
        assert leads(state, "ResultUnreadable", on_crash) == "RecordQuarantine"


@pytest.mark.parametrize("raised", [False, True])
@pytest.mark.parametrize("name", ["Weather", "States.Timeout"])
def test_what_may_pass_is_tried_again_where_oncrash_allows_it(name: str, raised: bool, state: States) -> None:
    assert leads(state, name, raised=raised) == "TakeNextFence"
    assert leads(state, name, attempts=MAX_ATTEMPTS - 1, raised=raised) == "TakeNextFence"
    assert leads(state, name, attempts=MAX_ATTEMPTS, raised=raised) == "RecordQuarantine"
    assert leads(state, name, "quarantine", raised=raised) == "RecordQuarantine"


@pytest.mark.parametrize("raised", [False, True])
def test_lambdas_own_errors_count_only_if_the_function_did_not_raise_them(raised: bool, state: States) -> None:
    throttled, missing = LAMBDAS
    assert leads(state, throttled, "quarantine", raised=raised) == ("RecordQuarantine" if raised else "TakeNextFence")
    assert leads(state, throttled, raised=raised) == "TakeNextFence"
    assert leads(state, missing, raised=raised) == ("TakeNextFence" if raised else "RecordQuarantine")
    assert leads(state, throttled, raised=raised, function="") == "RecordQuarantine"


@pytest.mark.parametrize("machine", ["operation", "fast", "recovery"])
def test_what_states_all_may_not_match_is_named_together(machine: str, rendered: dict[str, dict[str, Any]]) -> None:
    """AWS's pages and recorded answers differ on both: where one is caught, or not tried again, the other is, too."""
    both = {"States.DataLimitExceeded", "States.Runtime"}
    for name, state in states_of(rendered[machine]):
        for way in (*state.get("Catch", ()), *state.get("Retry", ())):
            assert both & set(way["ErrorEquals"]) in (set(), both), name


def test_a_sweep_begins_at_the_other_end_than_the_one_a_minute_before(of: States) -> None:
    begin = of("recovery", "BeginShard")
    started = [f"'2026-01-01T00:{minute:02}:00.750Z'" for minute in range(60)]
    sweeps = [begin.with_text("$states.context.Execution.StartTime", each).chooses({}, "0") for each in started]
    assert [each.assigned["isOldestFirst"] for each in sweeps] == [True, False] * 30


@pytest.mark.parametrize("error", ["States.DataLimitExceeded", "States.Runtime", "States.Timeout", "S3.S3Exception"])
@pytest.mark.parametrize(
    ("name", "to"),
    [
        ("FindOverdue", "ShardSwept"),
        ("ReadOpenRecord", "CouldNotRecover"),
        ("ReadKeptRequest", "CouldNotRecover"),
        ("StartRecovery", "CouldNotRecover"),
        ("CountShard", "NotCounted"),
        ("CountRejected", "PublishMetrics"),
    ],
)
def test_whatever_a_sweep_cannot_do_is_told_and_ends_no_sweep(name: str, to: str, error: str, of: States) -> None:
    way = of("recovery", name).fails(
        error, {"failed": 1, "swept": {"recovered": 1, "failed": 1}}, given={"name": "OpenOperations"}
    )
    assert way.to == to
    assert name != "FindOverdue" or way.assigned["failed"] == 2
    assert name != "CountRejected" or (way.assigned["swept"]["failed"], way.assigned["rejected"]["isKnown"]) == (
        2,
        False,
    )
