"""What each state of the recovery machine asks for, decides and hands on, situation by situation."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from one_state import NOW, THEIRS, State, Way
from test_decisions import FOREIGN
from test_patience import CONDITION, EXISTS, GONE

States = Callable[..., State]

TOO_LARGE = "States.DataLimitExceeded"
PASSING = ("States.Timeout", "SomethingNew")
HEX = "0123456789abcdef"
ID = "acme#charge#k"
INPUT = '{"operation": "charge", "tenant": "acme", "idempotencyKey": "k", "payload": {"n": 1.10}}'


def at(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")


# ---- what sets it off ----


def test_an_event_of_a_death_looks_at_that_execution_alone(state: States) -> None:
    way = state("ReceiveTrigger").chooses({}, {"executionArn": THEIRS, "status": "ABORTED"})
    empty: dict[str, list[Any]] = {"cursors": [], "metrics": [], "outcomes": []}
    known = {"sweeps": False, "listed": True, "dead": [THEIRS], "startedAt": NOW * 1000, "rounds": 0, **empty}
    assert way == Way("LookAtDeadExecutions", {**known, "pageSize": 3})


def test_everything_else_is_a_sweep_through_all_shards(state: States) -> None:
    cursors = [{"shard": f"IN_PROGRESS#{digit}"} for digit in HEX]
    empty: dict[str, list[Any]] = {"metrics": [], "outcomes": []}
    known = {"sweeps": True, "listed": False, "startedAt": NOW * 1000, "rounds": 0, "cursors": cursors, **empty}
    for given in ({}, {"source": "aws.scheduler"}):
        assert state("ReceiveTrigger").chooses({}, given) == Way("QueryShards", {**known, "pageSize": 3})


# ---- executions that died ----


def test_a_sweep_asks_for_every_way_in_which_executions_die(state: States) -> None:
    assert set(state("ListDeadExecutions").raw["Items"]) == {"FAILED", "ABORTED", "TIMED_OUT"}
    known = {"status": "ABORTED", "found": [], "pages": 0, "next": "", "since": (NOW - PERIODS) * 1000}
    begun = {"startedAt": NOW * 1000}
    assert state("TakeStatus", at=NOW + 200).takes(None, begun, "ABORTED") == Way("ListExecutions", known)
    each_minute = state("TakeStatus").with_text("$number('5')", "$number('1')").takes(None, begun, "ABORTED")
    assert each_minute.assigned["since"] == (NOW - 6 * 60) * 1000


PERIODS = 18 * 60
"""Three times the five minutes between two sweeps, and three minutes because a sweep can start late."""


def test_executions_of_all_versions_are_listed_a_hundred_a_page(state: States) -> None:
    listing = state("ListExecutions")
    first = listing.asks({"status": "ABORTED", "next": ""})
    assert first == {
        "StateMachineArn": first["StateMachineArn"],
        "StatusFilter": "ABORTED",
        "MaxResults": 100,
    }
    assert first["StateMachineArn"] == "once-OperationStateMachine"
    assert listing.asks({"status": "ABORTED", "next": "t"}) == {**first, "NextToken": "t"}


def listed(state: States, ends: list[float], more: str | None = None) -> dict[str, Any]:
    executions = [{"ExecutionArn": f"arn:{number}", "StopDate": at(end)} for number, end in enumerate(ends)]
    result = {"Executions": executions, **({} if more is None else {"NextToken": more})}
    known = {"found": ["arn:before"], "pages": 1, "since": (NOW - PERIODS) * 1000}
    way = state("ListExecutions").takes(result, known)
    assert way.to == "AreThereMore"
    return way.assigned


def test_what_ended_within_three_periods_is_looked_at(state: States) -> None:
    recent = listed(state, [NOW, NOW - PERIODS + 1, NOW - PERIODS, NOW - PERIODS - 1])
    assert recent == {"found": ["arn:before", "arn:0", "arn:1"], "pages": 2, "next": ""}
    assert listed(state, [])["found"] == ["arn:before"]


def test_a_further_page_is_read_as_long_as_pages_are_recent_and_few(state: States) -> None:
    assert listed(state, [NOW, NOW - PERIODS + 1], "t")["next"] == "t"
    assert listed(state, [NOW, NOW - PERIODS], "t")["next"] == ""
    assert listed(state, [NOW])["next"] == ""
    more = state("AreThereMore")
    assert [more.chooses({"next": "t", "pages": pages}).to for pages in (1, 2)] == ["ListExecutions"] * 2
    assert more.chooses({"next": "t", "pages": 3}).to == "ListedExecutions"
    assert more.chooses({"next": "", "pages": 1}).to == "ListedExecutions"


def test_executions_that_cannot_be_listed_fail_the_run_at_its_end(state: States) -> None:
    for error in PASSING:
        assert state("ListExecutions").fails(error, {}) == Way("CouldNotList")
    assert state("CouldNotList").value("Output", {"found": ["a"]}) == {"arns": ["a"], "outcome": "FAILED"}
    assert state("ListedExecutions").value("Output", {"found": ["a"]}) == {"arns": ["a"]}
    after = state("ListDeadExecutions").takes(
        [{"arns": ["a"]}, {"arns": [], "outcome": "FAILED"}, {"arns": ["b", "c"]}], {"outcomes": ["LEFT"]}
    )
    known = {"dead": ["a", "b", "c"], "outcomes": ["LEFT", "FAILED"], "listed": True}
    assert after == Way("LookAtDeadExecutions", known)


BEGINNING = {"pageSize": 25, "events": 0, "hadTheLock": False}


def described(state: States, text: str, **more: str) -> dict[str, Any]:
    result = {"ExecutionArn": THEIRS, "Name": "theirs", "Status": "ABORTED", "Input": text, **more}
    way = state("DescribeDeadExecution").takes(result, {}, THEIRS)
    assert (way.to, way.assigned["looked"]) == ("HowDidItEnd", BEGINNING)
    known: dict[str, Any] = way.assigned["execution"]
    return known


@pytest.mark.parametrize("text", [INPUT, f"[{INPUT}]", f'[{{"body": {INPUT}}}]', f'{{"body": {INPUT}}}'])
def test_a_dead_execution_is_known_by_its_request(text: str, state: States) -> None:
    known = {"arn": THEIRS, "name": "theirs", "status": "ABORTED", "error": "", "input": text, "id": ID}
    assert described(state, text) == known
    assert described(state, text, Error="LockLost", Status="FAILED") == {
        **known,
        "error": "LockLost",
        "status": "FAILED",
    }


def test_an_id_that_no_request_can_have_is_none(state: States) -> None:
    def text(length: int) -> str:
        return f'{{"operation": "a", "idempotencyKey": "{"k" * (length - len("default#a#"))}"}}'

    assert len(described(state, text(400))["id"]) == 400
    assert "id" not in described(state, text(401))


def test_a_request_without_a_tenant_is_the_default_ones(state: States) -> None:
    assert described(state, '{"operation": "a", "idempotencyKey": "k"}')["id"] == "default#a#k"


@pytest.mark.parametrize(
    "text",
    [
        '{"operation": "a"}',
        '[[{"operation": "a", "idempotencyKey": "k"}]]',
        '[{"body": [{"operation": "a", "idempotencyKey": "k"}]}]',
        '{"idempotencyKey": "k"}',
        '{"operation": 1, "idempotencyKey": "k"}',
        '{"operation": "a", "idempotencyKey": 1}',
        '{"operation": "a", "idempotencyKey": "k", "tenant": 1}',
        '{"operation": "a", "idempotencyKey": "k", "tenant": null}',
        '"text"',
        "[]",
        "null",
        "7",
    ],
)
def test_what_is_no_request_has_no_id(text: str, state: States) -> None:
    assert "id" not in described(state, text)


def test_an_execution_that_is_gone_needs_nothing_and_one_too_large_to_describe_is_asked_for_its_end(
    state: States,
) -> None:
    describe = state("DescribeDeadExecution")
    assert describe.asks({}, THEIRS) == {"ExecutionArn": THEIRS}
    assert describe.fails(GONE, {}) == Way("NothingLeftToDo")
    unread = {"looked": BEGINNING, "execution": {"arn": THEIRS, "name": "", "input": ""}}
    for error in (TOO_LARGE, "States.QueryEvaluationError"):
        assert describe.fails(error, {}, given=THEIRS) == Way("ReadItsEnd", unread)


OWN_ENDS = [
    "InvalidRequest",
    "PayloadMismatch",
    "Unavailable",
    "OperationInProgress",
    "OperationFailed",
    "NeedsAttention",
    "LockLost",
]


def test_an_execution_that_came_to_an_end_of_its_own_needs_nothing(state: States) -> None:
    ended = state("HowDidItEnd")

    def after(status: str, error: str = "", **more: str) -> str:
        return ended.chooses({"execution": {"status": status, "error": error, **more}}).to

    for error in OWN_ENDS:
        assert after("FAILED", error, id=ID) == after("FAILED", error) == "NothingLeftToDo"
        assert after("FAILED", error, name=f"again-{'0' * 40}") == "NothingLeftToDo", "it has kept its request"
        assert after("ABORTED", error, id=ID) == "ReadItsRecord"
    for status in ("RUNNING", "SUCCEEDED", "PENDING_REDRIVE"):
        assert after(status, id=ID) == "NothingLeftToDo"
    for status in ("FAILED", "TIMED_OUT", "ABORTED"):
        assert after(status, "States.Timeout", id=ID) == "ReadItsRecord"
        assert after(status, "States.Timeout", name="x") == "StartAgain", "the second execution refuses it"
        assert after(status, "States.Timeout", name=f"again-{'0' * 40}", id=ID) == "ReadItsRecord"
        assert after(status, "States.Timeout", name=f"again-{'0' * 40}") == "KeepDeadRequest"
        for other in ("xagain-", "again-0"):
            assert after(status, "States.Timeout", name=f"{other}{'0' * 40}") == "StartAgain"


def test_the_newest_events_say_how_an_execution_ended(state: States) -> None:
    read, execution = state("ReadItsEnd"), {"arn": THEIRS, "name": "", "input": ""}
    asks = {"ExecutionArn": THEIRS, "IncludeExecutionData": False, "ReverseOrder": True, "MaxResults": 2}
    assert read.asks({"execution": execution}) == asks

    def end(*events: dict[str, Any], **more: str) -> tuple[str, str]:
        way = read.takes({"Events": list(events), **more}, {"execution": execution})
        assert way.to == "WasItsEndItsOwn"
        known = way.assigned["execution"]
        assert {name: known[name] for name in execution} == execution
        assert known["isShort"] is (len(events) < 2 and bool(more))
        return known["status"], known["lastState"]

    entered = {"Type": "FailStateEntered", "StateEnteredEventDetails": {"Name": "LockLost"}}
    assert end({"Type": "ExecutionFailed"}, entered) == ("FAILED", "LockLost")
    assert end({"Type": "ExecutionTimedOut"}, {"Type": "TaskScheduled"}) == ("TIMED_OUT", "")
    assert end({"Type": "ExecutionAborted"}) == ("ABORTED", "")
    assert end({"Type": "ExecutionAborted"}, NextToken="t") == ("ABORTED", "")
    assert end({"Type": "ExecutionFailed"}, entered, NextToken="t") == ("FAILED", "LockLost")
    assert end({"Type": "TaskScheduled"}, entered) == ("RUNNING", "LockLost")


@pytest.mark.parametrize("status", ["FAILED", "TIMED_OUT", "ABORTED"])
def test_the_state_before_the_end_tells_as_much_as_the_error(status: str, state: States) -> None:
    own = state("WasItsEndItsOwn")

    def after(status: str, last: str, is_short: bool = False) -> str:
        return own.chooses({"execution": {"status": status, "lastState": last, "isShort": is_short}}).to

    assert after(status, "Finalize", is_short=True) == "CouldNotLook", "its last state may be on the next page"
    for last in ("RequestRefused", "OperationInProgress", "OperationFailed", "NeedsAttention", "LockLost"):
        assert after(status, last) == "NothingLeftToDo"
    assert after(status, "Finalize") == "ReadItsHistory"
    assert after("RUNNING", "Finalize") == "NothingLeftToDo"
    assert after("RUNNING", "", is_short=True) == "NothingLeftToDo", "it lives, whatever came before"


def test_its_record_is_read_consistently(state: States) -> None:
    read = state("ReadItsRecord")
    asks = read.asks({"execution": {"id": ID}})
    assert (asks["Key"], asks["ConsistentRead"]) == ({"id": {"S": ID}}, True)
    assert projected(asks) == {"status", "owner"}
    item = {"owner": {"S": THEIRS}}
    assert read.takes({"Item": item}, {}) == Way("WasItTheOwner", {"record": item})
    assert read.takes({}, {}) == Way("WasItTheOwner", {"record": {}})


def projected(asks: dict[str, Any]) -> set[str]:
    names = [name.strip() for name in asks["ProjectionExpression"].split(",")]
    return {asks.get("ExpressionAttributeNames", {}).get(name, name) for name in names}


RECOVERY_NAME = f"recover-{'0a' * 16}-{'1b' * 4}-3-2"


def test_only_an_open_records_owner_is_recovered_by_its_record(state: States) -> None:
    was = state("WasItTheOwner")

    def after(owner: str, status: str, name: str = "theirs") -> str:
        record = {"owner": {"S": owner}, "status": {"S": status}}
        return was.chooses({"record": record, "execution": {"arn": THEIRS, "name": name}}).to

    assert after(THEIRS, "IN_PROGRESS") == "OwnerDied"
    assert after(THEIRS, "IN_PROGRESS", RECOVERY_NAME) == "OwnerDied"
    for status in ("COMPLETED", "FAILED", "QUARANTINED"):
        assert after(THEIRS, status) == "NothingLeftToDo"
        assert after("arn:other", status) == "ReadItsHistory"
    assert after("arn:other", "IN_PROGRESS") == "ReadItsHistory"
    assert was.chooses({"record": {}, "execution": {"arn": THEIRS, "name": "theirs"}}).to == "ReadItsHistory"


@pytest.mark.parametrize(
    ("name", "is_recovery"),
    [
        (RECOVERY_NAME, True),
        (f"{RECOVERY_NAME}17", True),
        (f"x{RECOVERY_NAME}", False),
        (f"{RECOVERY_NAME}x", False),
        (f"recover-{'0' * 31}-{'1' * 8}-3-2", False),
        (f"recover-{'0' * 33}-{'1' * 8}-3-2", False),
        (f"recover-{'0' * 32}-{'1' * 7}-3-2", False),
        (f"recover-{'0' * 32}-{'1' * 9}-3-2", False),
        (f"recover-{'g' * 32}-{'1' * 8}-3-2", False),
        ("recover-me", False),
        ("handover-me", False),
        (f"first-{'0' * 40}", False),
    ],
)
def test_a_recovery_that_died_is_known_by_its_name_to_the_last_character(
    name: str, is_recovery: bool, state: States
) -> None:
    way = state("WasItTheOwner").chooses({"record": {}, "execution": {"arn": THEIRS, "name": name}})
    assert way.to == ("NothingLeftToDo" if is_recovery else "ReadItsHistory")


@pytest.mark.parametrize("status", ["IN_PROGRESS", "QUARANTINED", "COMPLETED", "FAILED", None])
def test_a_request_that_was_handed_over_is_somebody_elses_only_while_its_record_is_open(
    status: str | None, state: States
) -> None:
    was, record = state("WasItTheOwner"), {} if status is None else {"owner": {"S": "x"}, "status": {"S": status}}

    def after(name: str) -> str:
        return was.chooses({"record": record, "execution": {"arn": THEIRS, "name": name}}).to

    name = RECOVERY_NAME.replace("recover-", "handover-")
    is_open = status in ("IN_PROGRESS", "QUARANTINED")
    assert after(name) == after(f"{name}17") == ("NothingLeftToDo" if is_open else "ReadItsHistory")
    for other in (
        f"x{name}",
        f"{name}x",
        name.replace("a", "g"),
        name.replace("0a", "0", 1),
        name.replace("1b", "1", 1),
    ):
        assert after(other) == after(other.replace("1b1b", "1b1b1b")) == "ReadItsHistory"
    assert after(RECOVERY_NAME) == "NothingLeftToDo"


def test_a_history_is_read_from_its_beginning_until_the_lock_was_had(state: States) -> None:
    read = state("ReadItsHistory")
    asks = {"ExecutionArn": THEIRS, "IncludeExecutionData": False, "MaxResults": 25}
    execution = {"arn": THEIRS}
    assert read.asks({"execution": execution, "looked": BEGINNING}) == asks
    further = {**BEGINNING, "pageSize": 1, "nextToken": "t"}
    assert read.asks({"execution": execution, "looked": further}) == {**asks, "MaxResults": 1, "NextToken": "t"}
    started = {"StateEnteredEventDetails": {"Name": "ExecuteBusinessLogic"}}
    written = {"TaskSucceededEventDetails": {"ResourceType": "dynamodb", "Resource": "updateItem"}}
    other = {"StateEnteredEventDetails": {"Name": "AcquireLock"}}

    def looked(*events: dict[str, Any], **more: str) -> Way:
        return read.takes({"Events": list(events), **more}, {"looked": {**BEGINNING, "events": 25}})

    had = {"pageSize": 25, "events": 27, "hadTheLock": True}
    assert looked(other, started) == Way("HadItTheLock", {"looked": had})
    assert looked(other, written) == Way("HadItTheLock", {"looked": had})
    read_or_called = [
        {"TaskSucceededEventDetails": {"ResourceType": "dynamodb", "Resource": "getItem"}},
        {"TaskSucceededEventDetails": {"ResourceType": "sqs", "Resource": "updateItem"}},
    ]
    for more in ([{}], read_or_called):
        seen = looked(other, *more, NextToken="t").assigned["looked"]
        assert seen == {**had, "events": 26 + len(more), "hadTheLock": False, "nextToken": "t"}


def test_a_history_of_large_events_is_read_event_by_event_and_then_given_up(state: States) -> None:
    read = state("ReadItsHistory")

    def after(page_size: int) -> Way | None:
        return read.fails(TOO_LARGE, {"looked": {**BEGINNING, "pageSize": page_size}})

    again = {"pageSize": 1, "events": 0, "hadTheLock": False, "anew": True}
    assert after(25) == Way("HadItTheLock", {"looked": {**again, "unreadable": False}})
    assert after(1) == Way("HadItTheLock", {"looked": {**again, "unreadable": True}})


def had_the_lock(state: States, name: str = "theirs", text: str = INPUT, **looked: Any) -> str:
    execution = {"arn": THEIRS, "name": name, "input": text}
    return state("HadItTheLock").chooses({"looked": {**BEGINNING, "events": 25, **looked}, "execution": execution}).to


def test_only_who_never_had_the_lock_left_its_request_with_nobody(state: States) -> None:
    assert had_the_lock(state, hadTheLock=True) == "NothingLeftToDo"
    assert had_the_lock(state, hadTheLock=True, unreadable=True) == "NothingLeftToDo"
    assert had_the_lock(state, unreadable=True) == "KeepDeadRequest"
    assert had_the_lock(state, unreadable=False) == "StartAgain"
    assert had_the_lock(state, anew=True) == "ReadItsHistory"
    assert had_the_lock(state, nextToken="t", events=999) == "ReadItsHistory"
    assert had_the_lock(state, nextToken="t", events=1000) == "StartAgain"
    assert had_the_lock(state, events=50) == "StartAgain"
    for more in ({"anew": True}, {"nextToken": "t"}):
        for name, text in ((f"again-{'0' * 40}", INPUT), ("", "")):
            assert had_the_lock(state, name, text, **more) == "ReadItsHistory", "it may still turn out to be an owner"


@pytest.mark.parametrize(
    ("name", "is_second"),
    [
        (f"again-{'0f' * 20}", True),
        (f"xagain-{'0f' * 20}", False),
        (f"again-{'0f' * 20}0", False),
        (f"again-{'0f' * 19}0", False),
        (f"again-{'0g' * 20}", False),
    ],
)
def test_a_request_gets_a_second_execution_and_no_third(name: str, is_second: bool, state: States) -> None:
    assert had_the_lock(state, name) == ("KeepDeadRequest" if is_second else "StartAgain")
    assert had_the_lock(state, text="") == "KeepDeadRequest"


def test_a_second_execution_has_a_name_made_of_the_first_and_its_very_input(state: States) -> None:
    asks = state("StartAgain").asks({"execution": {"arn": THEIRS, "input": INPUT}})
    assert asks["Name"] == f"again-{hashlib.sha256(THEIRS.encode()).hexdigest()[:40]}"
    assert asks["Input"] == INPUT
    assert asks["StateMachineArn"] == "once-OperationStateMachine:live"
    assert state("StartRecovery").raw["Arguments"]["StateMachineArn"] == "once-OperationStateMachine:live"


def kept(state: States, text: str, unreadable: bool | None = None) -> dict[str, Any]:
    looked = BEGINNING if unreadable is None else {**BEGINNING, "unreadable": unreadable}
    execution = {"arn": THEIRS, "status": "ABORTED", "input": text}
    said: dict[str, Any] = state("KeepDeadRequest").asks({"execution": execution, "looked": looked})["MessageBody"]
    return said


def test_a_dead_request_is_kept_with_what_became_of_it(state: States) -> None:
    said = kept(state, '{"é": 1}')
    assert said == {
        "error": "ExecutionDied",
        "message": "its execution ended as ABORTED before the request was taken up",
        "executionArn": THEIRS,
        "refusedAt": "2026-01-01T00:00:00.000Z",
        "input": {"é": 1},
    }
    assert kept(state, "{}", unreadable=False)["message"] == said["message"]
    assert "history cannot be read" in kept(state, "{}", unreadable=True)["message"]
    assert "inputOmitted" in kept(state, "")


@pytest.mark.parametrize(("size", "is_kept"), [(220_000, True), (220_001, False)])
def test_a_dead_request_too_large_for_the_queue_is_named_by_its_execution(
    size: int, is_kept: bool, state: States
) -> None:
    for text in (f'"{"x" * (size - 2)}"', f'"{"é" * ((size - 4) // 4)}{"x" * ((size - 4) % 4 + 2)}"'):
        said = kept(state, text)
        assert ("input" in said, "inputOmitted" in said) == (is_kept, not is_kept)


@pytest.mark.parametrize("character", ["\\ud800", "\\udfff", "\\ufffe", "\\uffff"])
def test_a_dead_request_that_no_queue_takes_goes_into_it_with_its_escapes(character: str, state: States) -> None:
    hidden = f'{{"a": {{"_jsonata_lambda": true, "b": "{character}"}}}}'
    assert kept(state, hidden)["inputText"] == hidden
    for written in (character, json.loads(f'"{character}"')):
        said = kept(state, f'{{"a": "x{written}", "n": 0.30000000000000004}}')
        if "\ud7ff" < written < "\ue000":  # a half that is no escape: nothing that writes UTF-8 can have sent it
            assert said["inputOmitted"] == "read it from the execution"
        else:
            assert said["inputText"] == f'{{"a": "x{character}", "n": 0.30000000000000004}}'
            assert "input" not in said
    assert "input" in kept(state, '{"a": "\\ud83d\\ude00 \\\\ud800"}')


LOOKS = ("DescribeDeadExecution", "ReadItsEnd", "ReadItsRecord", "ReadItsHistory", "StartAgain", "KeepDeadRequest")
NEEDS_NOTHING = {
    "ReadItsEnd": GONE,
    "ReadItsHistory": GONE,
    "StartAgain": EXISTS,
    "DescribeDeadExecution": GONE,
}


@pytest.mark.parametrize("name", LOOKS)
def test_an_execution_that_cannot_be_looked_at_fails_the_run_at_its_end_and_not_the_others(
    name: str, state: States
) -> None:
    for error in PASSING:
        assert state(name).fails(error, {}, given=THEIRS) == Way("CouldNotLook")
    for error in (GONE, EXISTS):
        done = NEEDS_NOTHING.get(name) == error
        assert state(name).fails(error, {}) == Way("NothingLeftToDo" if done else "CouldNotLook")


def test_a_dead_request_that_cannot_be_printed_is_named_by_its_execution(state: States) -> None:
    execution = {"arn": THEIRS, "status": "FAILED", "input": '{"a": 1e400}'}
    assert state("KeepDeadRequest").fails("States.QueryEvaluationError", {}) == Way("LeaveDeadInputOut")
    assert state("KeepDeadRequest").waits("States.QueryEvaluationError") == []
    again = state("LeaveDeadInputOut").takes(None, {"execution": execution})
    assert again == Way("KeepDeadRequest", {"execution": {**execution, "input": ""}})


def test_a_history_whose_end_is_too_large_cannot_be_looked_at(state: States) -> None:
    assert state("ReadItsEnd").fails(TOO_LARGE, {}) == Way("CouldNotLook")


def test_what_was_looked_at_is_handed_on(state: States) -> None:
    assert state("OwnerDied").value("Output", {"execution": {"id": ID}}) == {"id": ID}
    assert state("NothingLeftToDo").value("Output", {}) == {}
    assert state("CouldNotLook").value("Output", {}) == {"outcome": "FAILED"}
    assert state("StartAgain").takes({}, {}) == Way("NothingLeftToDo")
    assert state("KeepDeadRequest").takes({}, {}) == Way("NothingLeftToDo")
    look = state("LookAtDeadExecutions")
    assert look.value("Items", {"dead": [THEIRS]}) == [THEIRS]
    gave: list[dict[str, str]] = [{}, {"id": ID}, {"outcome": "FAILED"}]
    after = look.takes(gave, {"outcomes": ["FAILED"]})
    page = {"items": [{"id": ID, "lease": "0"}]}
    assert after == Way("RecoverRecords", {"shardPages": [page], "outcomes": ["FAILED", "FAILED"]})


# ---- open records ----


def test_a_candidate_is_looked_at_afresh(state: States) -> None:
    assert state("RecoverRecords").value("Items", {"shardPages": [{"items": [{"id": ID, "lease": "0"}]}]}) == [
        {"id": ID}
    ]
    assert state("RecoverRecords").value("Items", {"shardPages": []}) == []
    assert state("TakeCandidate").takes(None, {}, {"id": ID}) == Way(
        "ReadOpenRecord", {"id": ID, "wasStarted": False, "isDamaged": False}
    )


UNREADABLE = {"status": "UNREADABLE"}
WHOLE = {"isDamaged": False}
"""What is said of the request in a record before it is read."""


def test_an_open_record_is_read_consistently(state: States) -> None:
    read = state("ReadOpenRecord")
    asks = read.asks({"id": ID})
    assert (asks["Key"], asks["ConsistentRead"]) == ({"id": {"S": ID}}, True)
    assert projected(asks) == {"status", "owner", "fence", "recoveries", "leaseExpiresAt", "request", "requestRef"}
    item = {"status": {"S": "IN_PROGRESS"}, "owner": {"S": THEIRS}, "fence": {"N": "3"}}
    known = {"status": "IN_PROGRESS", "owner": THEIRS, "fence": "3", "recoveries": 0}
    assert read.takes({"Item": item}, WHOLE) == Way(
        "IsItOverdue", {"record": known, "isFast": False, "owner": UNREADABLE}
    )
    more = {"recoveries": {"N": "2"}, "leaseExpiresAt": {"N": str(NOW)}}
    assert read.takes({"Item": {**item, **more}}, WHOLE).assigned["record"] == {**known, "recoveries": 2, "lease": NOW}
    for gone in ({}, {"Item": {}}):
        assert read.takes(gone, WHOLE).assigned["record"] == {"status": "GONE"}


def overdue(state: States, sweeps: bool, lease: int, status: str = "IN_PROGRESS", recoveries: int = 0) -> str:
    record = {"status": status, "lease": lease, "recoveries": recoveries, "owner": THEIRS}
    return state("IsItOverdue").chooses({"record": record, "isFast": False, "sweeps": sweeps}).to


def test_a_sweep_asks_after_owners_whose_lease_is_over_and_an_event_after_any(state: States) -> None:
    assert [overdue(state, True, NOW + late) for late in (-1, 0, 1)] == ["AskOwner", "LeftAlone", "LeftAlone"]
    assert overdue(state, False, NOW + 1) == "AskOwner"
    again = [overdue(state, False, NOW + late, recoveries=1) for late in (-1, 0, 1)]
    assert again == ["AskOwner", "LeftAlone", "LeftAlone"], "a recovery may have claimed it by a new lease"
    for status in ("COMPLETED", "FAILED", "QUARANTINED", "GONE"):
        assert overdue(state, False, 0, status) == overdue(state, True, 0, status) == "LeftAlone"


def is_fast(state: States, owner: str) -> bool:
    """Whether recovery takes an owner for one in the fast lane."""
    item = {"status": {"S": "IN_PROGRESS"}, "owner": {"S": owner}, "fence": {"N": "3"}}
    found: bool = state("ReadOpenRecord").takes({"Item": item}, WHOLE).assigned["isFast"]
    return found


@pytest.mark.parametrize("owner", FOREIGN)
def test_an_owner_that_is_no_execution_of_the_operation_machine_is_not_asked_after(owner: str, state: States) -> None:
    record = {"status": "IN_PROGRESS", "lease": NOW - 1, "recoveries": 0, "owner": owner}
    assert not is_fast(state, owner)
    known = {"record": record, "isFast": False, "sweeps": True}
    way = state("IsItOverdue").chooses(known)
    assert (way.to, way.assigned["failure"]["name"]) == ("QuarantineRecord", "ForeignOwner")
    alive = {**record, "lease": NOW}
    assert state("IsItOverdue").chooses({**known, "record": alive}).to == "LeftAlone"


def test_an_owner_is_asked_for_its_state_and_its_request(state: States) -> None:
    ask = state("AskOwner")
    assert ask.asks({"record": {"owner": THEIRS}}) == {"ExecutionArn": THEIRS}
    for text in (INPUT, f"[{INPUT}]", f'{{"body": {INPUT}}}', f'[{{"body": {INPUT}}}]'):
        after = ask.takes({"Status": "ABORTED", "Input": text}, {})
        assert after == Way("IsOwnerDead", {"owner": {"status": "ABORTED", "input": text, "id": ID}})
    default = '{"operation": "charge", "idempotencyKey": "k", "payload": {}}'
    assert ask.takes({"Status": "ABORTED", "Input": default}, {}).assigned["owner"]["id"] == "default#charge#k"
    assert ask.fails(GONE, {}) == Way("LeftAlone")
    for error in (TOO_LARGE, "States.QueryEvaluationError"):
        assert ask.fails(error, {}) == Way("ReadOwnerEnd")


@pytest.mark.parametrize("status", ["RUNNING", "FAILED", "ABORTED", "SUCCEEDED"])
def test_the_request_of_another_is_never_started_as_this_records(status: str, state: States) -> None:
    for text in (
        '{"operation": "charge", "tenant": "victim", "idempotencyKey": "k"}',
        "[]",
        "{}",
        "null",
        "[[7]]",
        '"x"',
    ):
        owner = state("AskOwner").takes({"Status": status, "Input": text}, {}).assigned["owner"]
        record = {"recoveries": 0, "lease": NOW - 1, "owner": THEIRS}
        way = state("IsOwnerDead").chooses({"id": ID, "owner": owner, "record": record, "wasStarted": False})
        assert (way.to, way.assigned["failure"]["name"]) == ("QuarantineRecord", "ForeignOwner"), text


@pytest.mark.parametrize(
    ("event", "status"),
    [
        ("ExecutionFailed", "UNREADABLE"),
        ("ExecutionTimedOut", "UNREADABLE"),
        ("ExecutionAborted", "UNREADABLE"),
        ("ExecutionSucceeded", "UNREADABLE"),
        ("ExecutionRedriven", "RUNNING"),
        ("TaskScheduled", "RUNNING"),
    ],
)
def test_the_newest_event_tells_of_an_owner_too_large_to_describe(event: str, status: str, state: States) -> None:
    read = state("ReadOwnerEnd")
    asks = {"ExecutionArn": THEIRS, "IncludeExecutionData": False, "ReverseOrder": True, "MaxResults": 1}
    assert read.asks({"record": {"owner": THEIRS}}) == asks
    assert read.takes({"Events": [{"Type": event}]}, {}) == Way("IsOwnerDead", {"owner": {"status": status}})
    for error in (GONE, TOO_LARGE):
        assert read.fails(error, {}) == Way("LeftAlone")


def dead(state: States, status: str, recoveries: int = 0, lease: int = NOW - 1, was_started: bool = False) -> Way:
    record = {"recoveries": recoveries, "lease": lease, "owner": THEIRS}
    owner = {"status": status} if status == "UNREADABLE" else {"status": status, "id": ID}
    return state("IsOwnerDead").chooses({"id": ID, "owner": owner, "record": record, "wasStarted": was_started})


DEAD = ("FAILED", "TIMED_OUT", "ABORTED", "SUCCEEDED")


def test_an_owner_that_lives_is_left_alone(state: States) -> None:
    for status in ("RUNNING", "PENDING_REDRIVE", "SOMETHING_NEW"):
        assert dead(state, status, recoveries=60, lease=0) == Way("LeftAlone")


@pytest.mark.parametrize("status", DEAD)
def test_a_dead_owners_lease_is_ended_and_counted_once(status: str, state: States) -> None:
    assert dead(state, status) == Way("EndLease", {"recoveries": 1})
    assert dead(state, status, recoveries=2) == Way("EndLease", {"recoveries": 3})
    assert dead(state, status, lease=0) == Way("EndLease", {"recoveries": 1}), "ended by somebody who did not count"
    for recoveries in (1, 2):
        begun = dead(state, status, recoveries=recoveries, lease=0)
        assert begun == Way("StartRecovery", {"recoveries": recoveries})
    again = dead(state, status, recoveries=2, lease=0, was_started=True)
    assert again == Way("EndLease", {"recoveries": 3})


def test_a_request_that_cannot_be_read_is_for_the_operator(state: States) -> None:
    way = dead(state, "UNREADABLE", recoveries=60, lease=0)
    assert (way.to, way.assigned["failure"]["name"]) == ("QuarantineRecord", "RequestUnreadable")
    assert way.assigned["failure"]["message"].endswith(THEIRS)


@pytest.mark.parametrize(("recoveries", "to"), [(5, "EndLease"), (6, "EndLease"), (7, "QuarantineRecord")])
def test_an_operation_that_heirs_did_not_quarantine_is_quarantined_here(
    recoveries: int, to: str, state: States
) -> None:
    way = dead(state, "FAILED", recoveries=recoveries)
    assert way.to == to
    if to == "QuarantineRecord":
        failure = way.assigned["failure"]
        assert (failure["name"], f" {recoveries} times" in failure["message"]) == ("RecoveriesUsedUp", True)
        assert dead(state, "FAILED", recoveries=recoveries, lease=0) == way, "also where its heir was never started"


def test_an_heir_has_the_owners_request_under_a_name_that_only_this_recovery_has(state: States) -> None:
    start = state("StartRecovery")

    def name(id: str, owner: str, fence: str, recoveries: int) -> str:
        record, known = {"owner": owner, "fence": fence}, {"input": INPUT, "status": "ABORTED"}
        asks = start.asks({"id": id, "record": record, "recoveries": recoveries, "owner": known})
        assert asks["Input"] == INPUT
        found: str = asks["Name"]
        return found

    of_id, of_owner = (hashlib.sha256(text.encode()).hexdigest() for text in (ID, THEIRS))
    assert name(ID, THEIRS, "3", 2) == f"recover-{of_id[:32]}-{of_owner[:8]}-3-2"
    assert start.takes({}, {}) == Way("Recovered")
    assert start.fails(EXISTS, {}) == Way("WasStartedTwice")


def test_a_recovery_that_was_started_before_is_looked_at_once_more(state: States) -> None:
    twice = state("WasStartedTwice")
    assert twice.chooses({"wasStarted": False}) == Way("ReadOpenRecord", {"wasStarted": True})
    assert twice.chooses({"wasStarted": True}) == Way("LeftAlone")


RECOVERS = ("ReadOpenRecord", "AskOwner", "ReadOwnerEnd", "EndLease", "StartRecovery", "QuarantineRecord")


@pytest.mark.parametrize("name", RECOVERS)
def test_a_record_that_cannot_be_recovered_now_fails_the_run_at_its_end_and_not_the_others(
    name: str, state: States
) -> None:
    for error in PASSING:
        assert state(name).fails(error, {}) == Way("CouldNotRecover")


NAMED = ("States.DataLimitExceeded", "States.Runtime")


@pytest.mark.parametrize("error", NAMED)
def test_what_all_errors_do_not_match_ends_one_item_and_never_the_map(error: str, state: States) -> None:
    for name in ("ReadItsEnd", "ReadItsRecord", "StartAgain", "KeepDeadRequest"):
        assert state(name).fails(error, {}) == Way("CouldNotLook")
    for name in ("ReadOpenRecord", "EndLease", "StartRecovery", "QuarantineRecord"):
        assert state(name).fails(error, {}) == Way("CouldNotRecover")
    assert state("ListExecutions").fails(error, {}) == Way("CouldNotList")
    assert state("QueryShard").fails(error, {}) == Way("CouldNotQuery")


def test_an_error_of_the_service_itself_says_nothing_of_an_execution(state: States) -> None:
    for name in ("DescribeDeadExecution", "ReadItsHistory"):
        assert state(name).fails("States.Runtime", {}) == Way("CouldNotLook")
    for name in ("AskOwner", "ReadOwnerEnd"):
        assert state(name).fails("States.Runtime", {}) == Way("CouldNotRecover")


@pytest.mark.parametrize("error", [*NAMED, "States.QueryEvaluationError"])
def test_a_map_whose_item_died_is_left_behind_and_the_sweep_goes_on(error: str, state: States) -> None:
    page = {"shard": "IN_PROGRESS#0", "items": [{"id": "a", "lease": "1"}, {"id": "b", "lease": "2"}], "more": True}
    known = {"listed": False, "cursors": ["old"], "shardPages": [page], "outcomes": ["LEFT"]}
    start = {"openShard": {"S": "IN_PROGRESS#0"}, "id": {"S": "b"}, "leaseExpiresAt": {"N": "2"}}
    after = {"cursors": [{"shard": "IN_PROGRESS#0", "from": start}], "shardPages": [], "outcomes": ["LEFT", "FAILED"]}
    assert state("RecoverRecords").fails(error, known) == Way("IsSweepOver", after)
    late = state("RecoverRecords").fails(error, {**known, "listed": True})
    assert late == Way("IsSweepOver", {**after, "cursors": ["old"]})
    for name in ("ListDeadExecutions", "LookAtDeadExecutions"):
        way = state(name).fails(error, {"outcomes": ["LEFT"]})
        assert way is not None and way.assigned["outcomes"] == ["LEFT", "FAILED"]


def test_an_owner_longer_than_any_execution_is_foreign_without_another_look(state: States) -> None:
    """The pattern for its last two parts takes a time that grows with the square of what has no colon."""
    prefix = THEIRS.rpartition(":")[0]
    record = {"status": "IN_PROGRESS", "lease": NOW - 1, "recoveries": 0}
    for owner in ("x" * 200_000, f"{prefix}:{'x' * 200_000}"):
        assert not is_fast(state, owner)
        way = state("IsItOverdue").chooses({"record": {**record, "owner": owner}, "isFast": False, "sweeps": True})
        assert (way.to, way.assigned["failure"]["name"]) == ("QuarantineRecord", "ForeignOwner")
    longest = f"{prefix}:{'x' * 80}"
    assert len(longest) > 128
    for owner in (THEIRS, longest):
        known = {"record": {**record, "owner": owner}, "isFast": False, "sweeps": True}
        assert state("IsItOverdue").chooses(known).to == "AskOwner"


def test_a_count_of_recoveries_that_is_no_number_is_none(state: States) -> None:
    item = {"status": {"S": "IN_PROGRESS"}, "owner": {"S": THEIRS}, "fence": {"N": "3"}, "recoveries": {"S": "x"}}
    assert state("ReadOpenRecord").takes({"Item": item}, {}).assigned["record"]["recoveries"] == 0


def test_a_record_that_has_changed_since_is_left_alone(state: States) -> None:
    for name in ("EndLease", "QuarantineRecord"):
        assert state(name).fails(CONDITION, {}) == Way("LeftAlone")
    assert state("EndLease").takes({}, {}) == Way("StartRecovery")
    assert state("QuarantineRecord").takes({}, {}) == Way("LeftAlone")


def test_what_became_of_each_record_is_counted(state: States) -> None:
    outcomes = {"Recovered": "RECOVERED", "LeftAlone": "LEFT", "CouldNotRecover": "FAILED"}
    for name, outcome in outcomes.items():
        assert state(name).value("Output", {}) == {"outcome": outcome}
    gave = [{"outcome": "LEFT"}, {"outcome": "RECOVERED"}]
    known = {"outcomes": ["FAILED"], "listed": False, "shardPages": []}
    told = {"outcomes": ["FAILED", "LEFT", "RECOVERED"], "cursors": [], "shardPages": []}
    assert state("RecoverRecords").takes(gave, known) == Way("IsSweepOver", told)


# ---- pages, counts, the end ----


def over(state: States, sweeps: bool = True, rounds: int = 0, seconds: float = 0, pages: int = 1, **more: Any) -> Way:
    known = {"rounds": rounds, "cursors": [{"shard": "s"}] * pages, "startedAt": (NOW - seconds) * 1000, "listed": True}
    return state("IsSweepOver").chooses({"sweeps": sweeps, "outcomes": [], **known, **more})


def test_a_sweep_goes_on_while_there_are_pages_rounds_and_time(state: States) -> None:
    assert over(state).to == over(state, rounds=49).to == over(state, seconds=179.999).to == "QueryShards"
    for more in ({"rounds": 50}, {"seconds": 180}, {"pages": 0}):
        assert over(state, **more).to == "CountOperations"
        assert over(state, **more, listed=False).to == "ListDeadExecutions", "the records come first"
    assert over(state, listed=False).to == "QueryShards"


def test_dead_executions_are_looked_at_after_the_records(state: States) -> None:
    assert over(state, listed=False).to == "QueryShards"
    assert over(state, listed=False, pages=0).to == over(state, listed=False, seconds=180).to == "ListDeadExecutions"


def test_an_event_reads_no_shard_and_counts_what_it_recovered(state: States) -> None:
    assert over(state, sweeps=False).to == "WasEverythingDone"
    assert over(state, sweeps=False, outcomes=["LEFT", "FAILED"]).to == "WasEverythingDone"
    way = over(state, sweeps=False, outcomes=["RECOVERED", "LEFT", "RECOVERED"])
    assert way == Way("PublishMetrics", {"metrics": [{"name": "RecoveredOperations", "value": 2}]})


def test_a_page_of_a_shard_holds_leases_that_are_over(state: States) -> None:
    query, given, size = state("QueryShard"), {"shard": "IN_PROGRESS#a"}, {"pageSize": 3}
    asks = query.asks(size, given)
    assert asks == {
        "TableName": asks["TableName"],
        "IndexName": "open-operations",
        "Limit": 3,
        "KeyConditionExpression": "openShard = :shard AND leaseExpiresAt < :now",
        "ExpressionAttributeValues": {":shard": {"S": "IN_PROGRESS#a"}, ":now": {"N": str(NOW)}},
    }
    start = {"id": {"S": ID}, "leaseExpiresAt": {"N": "5"}, "openShard": {"S": "IN_PROGRESS#a"}}
    assert query.asks(size, {**given, "from": start}) == {**asks, "ExclusiveStartKey": start}
    assert query.asks({"pageSize": 1}, given) == {**asks, "Limit": 1}
    items = [{"id": {"S": ID}, "leaseExpiresAt": {"N": "5"}}]
    page = {"shard": "IN_PROGRESS#a", "items": [{"id": ID, "lease": "5"}]}
    assert query.takes({"Items": items}, {}, given).output == page
    assert query.takes({"Items": items, "LastEvaluatedKey": start}, {}, given).output == {**page, "more": True}
    assert query.takes({"Items": []}, {}, given).output == {"shard": "IN_PROGRESS#a", "items": []}


def test_a_shard_that_cannot_be_read_fails_the_run_at_its_end_and_not_the_others(state: States) -> None:
    for error in (*PASSING, TOO_LARGE):
        assert state("QueryShard").fails(error, {}) == Way("CouldNotQuery")
    assert state("CouldNotQuery").value("Output", {}) == {"items": [], "outcome": "FAILED"}


def test_the_oldest_leases_of_all_shards_come_first_and_each_shard_goes_on_where_it_ended(state: States) -> None:
    query = state("QueryShards")
    assert query.value("Items", {"cursors": [{"shard": "a"}]}) == [{"shard": "a"}]
    pages = [
        {"shard": "a", "items": [{"id": "3", "lease": "3"}, {"id": "30", "lease": "30"}], "more": True},
        {"items": [], "outcome": "FAILED"},
        {"shard": "b", "items": [{"id": "5", "lease": "5"}]},
    ]
    start = {"openShard": {"S": "a"}, "id": {"S": "30"}, "leaseExpiresAt": {"N": "30"}}
    after = query.takes(pages, {"outcomes": ["LEFT"], "rounds": 2})
    assert after == Way("RecoverRecords", {"outcomes": ["LEFT", "FAILED"], "rounds": 3, "shardPages": pages})
    recover, known = state("RecoverRecords"), {"shardPages": pages, "outcomes": [], "listed": False, "cursors": []}
    assert recover.value("Items", known) == [{"id": "3"}, {"id": "5"}, {"id": "30"}]
    done = {"outcomes": ["LEFT"], "shardPages": []}
    assert recover.takes([{"outcome": "LEFT"}], known).assigned == {**done, "cursors": [{"shard": "a", "from": start}]}
    dead = {**known, "shardPages": [{"items": [{"id": "3", "lease": "0"}]}], "listed": True, "cursors": ["left"]}
    left = recover.takes([{"outcome": "LEFT"}], dead).assigned
    assert left == {**done, "cursors": ["left"]}, "what a sweep left is left also after dead executions were looked at"


def test_pages_that_are_too_large_together_are_asked_for_again_one_record_at_a_time(state: States) -> None:
    too_large = {"outcomes": ["LEFT"], "rounds": 3, "pageSize": 1}
    again = state("QueryShards").fails(TOO_LARGE, {"pageSize": 3, "rounds": 2, "outcomes": ["LEFT"]})
    assert again == Way("IsSweepOver", too_large)
    still = state("QueryShards").fails(TOO_LARGE, {"pageSize": 1, "rounds": 2, "outcomes": ["LEFT"]})
    assert still == Way("IsSweepOver", {**too_large, "outcomes": ["LEFT", "FAILED"]})


def test_lists_that_are_too_large_fail_the_run_at_its_end_and_leave_the_records_to_the_sweep(state: States) -> None:
    listing = state("ListDeadExecutions").fails(TOO_LARGE, {"outcomes": ["LEFT"]})
    assert listing == Way("LookAtDeadExecutions", {"dead": [], "listed": True, "outcomes": ["LEFT", "FAILED"]})
    looking = state("LookAtDeadExecutions").fails(TOO_LARGE, {"outcomes": ["LEFT"]})
    assert looking == Way("RecoverRecords", {"shardPages": [], "outcomes": ["LEFT", "FAILED"]})


def test_every_shard_is_counted_for_every_metric(state: States) -> None:
    counted = state("CountOperations").value("Items", {})
    for name, status, before in (
        ("OpenOperations", "IN_PROGRESS", 99999999999),
        ("OverdueOperations", "IN_PROGRESS", NOW),
        ("QuarantinedOperations", "QUARANTINED", 99999999999),
    ):
        wanted = [{"name": name, "shard": f"{status}#{digit}", "leaseBefore": before} for digit in HEX]
        assert [each for each in counted if each["name"] == name] == wanted
    assert len(counted) == 3 * 16


def test_a_shard_is_counted_without_its_keys(state: States) -> None:
    count = state("CountShard")
    asks = count.asks({}, {"name": "n", "shard": "s", "leaseBefore": 5})
    assert asks == {
        "TableName": state("QueryShard").asks({}, {"shard": "s"})["TableName"],
        "IndexName": "open-operations",
        "Select": "COUNT",
        "KeyConditionExpression": "openShard = :shard AND leaseExpiresAt < :before",
        "ExpressionAttributeValues": {":shard": {"S": "s"}, ":before": {"N": "5"}},
    }
    assert count.takes({"Count": 7}, {}, {"name": "n"}).output == {"name": "n", "count": 7}


def test_metrics_are_sums_over_all_shards_with_what_was_recovered(state: States) -> None:
    names = ("OpenOperations", "OverdueOperations", "QuarantinedOperations")
    counts = [{"name": name, "count": number} for number, name in enumerate(names, 1)] * 2
    after = state("CountOperations").takes(counts, {"outcomes": ["RECOVERED", "LEFT", "FAILED"]})
    values = {**{name: 2 * number for number, name in enumerate(names, 1)}, "RecoveredOperations": 1}
    metrics = [{"name": name, "value": value} for name, value in values.items()]
    assert after == Way("PublishMetrics", {"metrics": metrics})
    asks = state("PublishMetrics").asks({"metrics": metrics})
    dimensions = [{"Name": "Stack", "Value": "once"}]
    assert asks == {
        "Namespace": "Once",
        "MetricData": [
            {"MetricName": name, "Value": value, "Unit": "Count", "Dimensions": dimensions}
            for name, value in values.items()
        ],
    }
    assert state("PublishMetrics").takes({}, {}) == Way("WasEverythingDone")


def test_a_run_that_could_not_do_everything_does_not_end_green(state: States) -> None:
    done = state("WasEverythingDone")
    assert done.chooses({"outcomes": ["RECOVERED", "LEFT"]}) == Way("RecoveryDone")
    assert done.chooses({"outcomes": []}) == Way("RecoveryDone")
    assert done.chooses({"outcomes": ["LEFT", "FAILED"]}) == Way("RecoveryIncomplete")


def test_a_run_tells_what_it_did(state: States) -> None:
    outcomes = ["RECOVERED", "LEFT", "LEFT", "FAILED", "FAILED", "FAILED"]
    known = {"outcomes": outcomes, "cursors": [], "metrics": [{"name": "n", "value": 1}]}
    told = state("RecoveryDone").value("Output", known)
    assert told == {"recovered": 1, "left": 2, "isComplete": True, "metrics": known["metrics"]}
    assert state("RecoveryDone").value("Output", {**known, "cursors": [{}]})["isComplete"] is False
    incomplete = state("RecoveryIncomplete")
    assert incomplete.raw["Error"] == "RecoveryIncomplete"
    assert incomplete.value("Cause", known).startswith('{"recovered":1,"failed":3,"message":"')
