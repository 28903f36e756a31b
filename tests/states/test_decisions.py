"""What each state of the operation machine decides, situation by situation."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable
from typing import Any

import pytest
from one_state import EXECUTIONS, ME, NOW, THEIRS, State, Way
from test_patience import CONDITION, GONE, NOT_REDRIVABLE

States = Callable[..., State]

TOO_LARGE = "States.DataLimitExceeded"
EVERY_STATUS = ("IN_PROGRESS", "COMPLETED", "FAILED", "QUARANTINED")
REQUEST = {
    "id": "acme#charge#k",
    "idHash": hashlib.sha256(b"acme#charge#k").hexdigest(),
    "operation": "charge",
    "tenant": "acme",
    "idempotencyKey": "k",
    "fingerprint": "f",
    "onConflict": "acknowledge",
    "onCrash": "retry",
    "onFailed": "replay",
    "function": "once_op-charge:live",
}
ABOUT = {"owner": THEIRS, "fence": "3", "lease": str(NOW - 1)}


def found(status: str = "IN_PROGRESS", owner: str = THEIRS, **more: str) -> dict[str, Any]:
    texts = {"status": status, "owner": owner, "fingerprint": "f", "onCrash": "retry", "id": REQUEST["id"]}
    numbers = {"fence": "3", "attempts": "2", "leaseExpiresAt": str(NOW - 1)}
    record: dict[str, Any] = {name: {"S": value} for name, value in {**texts, **more}.items() if name not in numbers}
    record |= {name: {"N": more.get(name, value)} for name, value in numbers.items()}
    return record | {"error": {"M": {"name": {"S": "Kept"}, "message": {"S": "as it was kept"}}}}


def decided(state: States, record: dict[str, Any], ran: bool = False, name: str = "me", **asked: str) -> Way:
    """How ReadRecord and ExistingStatus decide with a record."""
    request = {**REQUEST, **asked}
    known = as_read(state, record, name=name, request=request)
    return state("ExistingStatus").chooses({"record": known, "ran": ran, "request": request}, name=name)


def as_read(
    state: States, item: dict[str, Any], *, at: int = NOW, name: str = "me", request: dict[str, Any] = REQUEST
) -> dict[str, Any]:
    """The record as ReadRecord keeps it."""
    way = state("ReadRecord", at=at).takes({"Item": item}, {"request": request}, name=name)
    record: dict[str, Any] = way.assigned["record"]
    return record


# ---- the record that is there ----


def test_no_record_is_taken_and_one_that_went_away_while_business_logic_ran_is_a_lost_lock(state: States) -> None:
    assert decided(state, {}).to == "AcquireLock"
    assert decided(state, {}, ran=True).to == "LockLost"


@pytest.mark.parametrize(
    ("name", "to"),
    [
        (f"recover-{'a' * 32}-{'0' * 8}-12-3", "LockLost"),
        (f"handover-{'a' * 32}-{'0' * 8}-12-3", "AcquireLock"),
        (f"recover-{'a' * 32}-{'0' * 8}-12-3x", "AcquireLock"),
        ("again-" + "a" * 40, "AcquireLock"),
        ("of-a-sender", "AcquireLock"),
    ],
)
def test_what_recovery_started_takes_no_lock_that_an_operator_released(name: str, to: str, state: States) -> None:
    assert decided(state, {}, name=name).to == to


@pytest.mark.parametrize("status", EVERY_STATUS)
def test_another_payload_is_refused_whatever_became_of_the_first(status: str, state: States) -> None:
    other = decided(state, found(status, fingerprint="g"))
    assert (other.to, other.assigned["refusal"]["error"]) == ("RefuseRequest", "PayloadMismatch")
    assert "another payload was sent before" in other.assigned["refusal"]["message"]
    assert decided(state, found(status, fingerprint="g"), ran=True).to == "LockLost"


def test_an_answer_is_replayed_also_to_whoever_ran_business_logic(state: States) -> None:
    for ran in (False, True):
        assert decided(state, found("COMPLETED"), ran).to == "ReturnStoredResponse"


@pytest.mark.parametrize(("status", "to"), [("FAILED", "OperationFailed"), ("QUARANTINED", "NeedsAttention")])
def test_an_error_is_told_as_it_was_kept(status: str, to: str, state: States) -> None:
    for ran in (False, True):
        way = decided(state, found(status), ran)
        assert way == Way(to, {"failure": {"name": "Kept", "message": "as it was kept"}})


def test_a_failure_that_has_a_status_is_told_with_it(state: States) -> None:
    failed = found("FAILED")
    failed["error"]["M"]["status"] = {"N": "402"}
    assert decided(state, failed).assigned["failure"]["status"] == 402


def test_a_failure_is_tried_again_for_a_sender_who_asks_and_not_by_recovery_nor_by_who_ran(state: States) -> None:
    failed = found("FAILED")
    assert decided(state, failed, onFailed="retry").to == "RetryFailed"
    recovery = f"recover-{'0a' * 16}-{'1b' * 4}-13-20"
    again = f"again-{'0a' * 20}"
    for name in (recovery, recovery.replace("recover-", "handover-"), again):
        assert decided(state, failed, onFailed="retry", name=name).to == "OperationFailed"
    others = [
        "recover-me",
        "handover-me",
        f"first-{'0a' * 20}",
        f"x{recovery}",
        f"{recovery}x",
        recovery.replace("a", "g"),
    ]
    others += [recovery.replace(*change, 1) for change in (("0a", "0"), ("0a", "0a0"), ("1b", "1"), ("1b", "1b1"))]
    others += ["again-me", f"{again}0", again[:-1], again[:-20], f"x{again}", f"again-{'0g' * 20}"]
    for other in others:
        assert decided(state, failed, onFailed="retry", name=other).to == "RetryFailed", other
    assert decided(state, failed, onFailed="retry", ran=True).to == "OperationFailed"
    for status in ("COMPLETED", "QUARANTINED", "IN_PROGRESS"):
        assert decided(state, found(status), onFailed="retry").to != "RetryFailed"


def test_a_lock_whose_answer_was_lost_is_recognised_and_worked_under(state: States) -> None:
    way = decided(state, found(owner=ME, onCrash="quarantine"))
    lock = {"fence": 3, "attempts": 2, "leaseExpiresAt": NOW - 1, "onCrash": "quarantine"}
    assert (way.to, way.assigned["lock"]) == ("ExecuteBusinessLogic", lock)


def test_a_lock_that_is_held_though_business_logic_calls_it_lost_is_for_the_operator(state: States) -> None:
    way = decided(state, found(owner=ME), ran=True)
    assert (way.to, way.assigned["about"]) == ("KeepRequest", {**ABOUT, "owner": ME})
    assert way.assigned["failure"]["name"] == "LockLostError"
    assert "what it did is unknown" in way.assigned["failure"]["message"]


FOREIGN = [
    "",
    "me",
    "arn",
    "/me",
    ":me",
    f"{EXECUTIONS}",
    f"{EXECUTIONS}a:b",
    f"{EXECUTIONS}a b",
    f"{EXECUTIONS}a\n",
    f"{EXECUTIONS}a*",
    f"{EXECUTIONS}{'x' * 81}",
    f"x{ME}",
    ME.replace("123456789012", "999999999999"),
    ME.replace("us-east-1", "us-east-2"),
    ME.replace("once-OperationStateMachine", "once-OperationStateMachine2"),
    ME.replace("once-OperationStateMachine", ""),
    ME.replace(":execution:", ":stateMachine:"),
]


@pytest.mark.parametrize("owner", FOREIGN)
def test_an_owner_that_is_no_execution_of_this_machine_is_for_the_operator(owner: str, state: States) -> None:
    way = decided(state, found(owner=owner))
    assert (way.to, way.assigned["failure"]["name"]) == ("KeepRequest", "ForeignOwner")
    assert way.assigned["about"] == {**ABOUT, "owner": owner}
    assert decided(state, found(owner=owner, leaseExpiresAt=str(NOW))).to == "AcknowledgeDuplicate"
    assert decided(state, found("ODD", owner=owner)).to == "NeedsAttention", "a status that nobody knows is no lock"


def test_an_owner_longer_than_any_execution_is_foreign_without_another_look(state: States) -> None:
    """The pattern for its last two parts takes a time that grows with the square of what has no colon."""
    for owner in ("x" * 200_000, f"{EXECUTIONS}{'x' * 200_000}"):
        assert decided(state, found(owner=owner)).to == "KeepRequest"
        assert decided(state, found(owner=owner, leaseExpiresAt=str(NOW))).to == "AcknowledgeDuplicate"


@pytest.mark.parametrize("name", ["a", "x" * 80, "recover-0f-1", "Größe.1", "operator-1f-before"])
def test_an_owner_may_have_any_name_that_an_execution_can_have(name: str, state: States) -> None:
    way = decided(state, found(owner=f"{EXECUTIONS}{name}"))
    assert way == Way("CheckOwner")


@pytest.mark.parametrize("conflict", ["acknowledge", "reject", "wait"])
@pytest.mark.parametrize(("lease", "is_over"), [(NOW - 1, True), (NOW, False), (NOW + 1, False)])
def test_an_owner_is_asked_after_only_when_its_lease_is_over(
    lease: int, is_over: bool, conflict: str, state: States
) -> None:
    told = {"acknowledge": "AcknowledgeDuplicate", "reject": "OperationInProgress", "wait": "WaitForOwner"}
    way = decided(state, found(leaseExpiresAt=str(lease)), onConflict=conflict)
    assert way.to == ("CheckOwner" if is_over else told[conflict])


def test_a_status_that_nobody_knows_is_for_the_operator_whoever_asks(state: States) -> None:
    for owner, ran, conflict in itertools.product((THEIRS, ME), (False, True), ("acknowledge", "reject", "wait")):
        way = decided(state, found("NEW", owner), ran, onConflict=conflict)
        assert (way.to, way.assigned["failure"]["name"]) == ("NeedsAttention", "UnknownStatus")
        assert "NEW" in way.assigned["failure"]["message"]


def test_all_of_a_record_is_read_consistently_but_for_what_grows(state: States) -> None:
    asks = state("ReadRecord").asks({"request": REQUEST})
    assert (asks["Key"], asks["ConsistentRead"]) == ({"id": {"S": REQUEST["id"]}}, True)
    names = [name.strip() for name in asks["ProjectionExpression"].split(",")]
    about_the_lock = {"id", "status", "fingerprint", "owner", "fence", "attempts", "recoveries", "onCrash"}
    assert {asks["ExpressionAttributeNames"].get(name, name) for name in names} == about_the_lock | {
        "leaseExpiresAt",
        "expiresAt",
        "error",
        "result",
        "resultRef",
        "mayStartAgain",
    }


@pytest.mark.parametrize(("expires", "is_there"), [(None, True), (NOW + 1, True), (NOW, True), (NOW - 1, False)])
def test_an_expired_record_counts_as_gone(expires: int | None, is_there: bool, state: States) -> None:
    item = found("COMPLETED") | ({} if expires is None else {"expiresAt": {"N": str(expires)}})
    assert as_read(state, item) == (item if is_there else {})
    assert state("ReadRecord").takes({}, {"request": REQUEST}) == Way(
        "ExistingStatus", {"record": {}, "isUnread": False, "redriveRefused": False}
    )


@pytest.mark.parametrize(("lease", "is_over"), [(NOW - 1, True), (NOW, False), (NOW + 1, False)])
def test_whether_a_lease_is_over_is_asked_once_for_all_rules(lease: int, is_over: bool, state: States) -> None:
    """An owner in the fast lane became a foreign one when a second began between two rules that asked for the time."""
    item = found(leaseExpiresAt=str(lease))
    assert as_read(state, item) == item | ({"isOver": True} if is_over else {})
    assert as_read(state, found("COMPLETED", leaseExpiresAt=str(lease))) == found(
        "COMPLETED", leaseExpiresAt=str(lease)
    )
    rules = [choice["Condition"] for choice in state("ExistingStatus").raw["Choices"]]
    assert not any("$record.leaseExpiresAt" in rule for rule in rules)


# ---- is the owner alive? ----

DEAD = ("FAILED", "TIMED_OUT", "ABORTED", "SUCCEEDED", "DOES_NOT_EXIST")
ALIVE = ("RUNNING", "PENDING_REDRIVE", "UNKNOWN", "SOMETHING_NEW")


def alive(state: States, status: str, recoveries: int | None = None, **asked: str) -> Way:
    record = found() | ({} if recoveries is None else {"recoveries": {"N": str(recoveries)}})
    return state("IsOwnerAlive").chooses({"ownerStatus": status, "record": record, "request": {**REQUEST, **asked}})


def test_only_an_owner_that_has_ended_is_looked_into(state: States) -> None:
    assert {alive(state, status).to for status in (*DEAD, "TOO_LARGE")} == {"ReadOwnerHistory"}
    told = {"acknowledge": "AcknowledgeDuplicate", "reject": "OperationInProgress", "wait": "WaitForOwner"}
    for status, conflict in itertools.product(ALIVE, told):
        assert alive(state, status, onConflict=conflict).to == told[conflict]


@pytest.mark.parametrize("status", DEAD)
def test_recoveries_that_are_used_up_need_no_history(status: str, state: States) -> None:
    assert alive(state, status, recoveries=5).to == "ReadOwnerHistory"
    way = alive(state, status, recoveries=6)
    assert (way.to, way.assigned["about"]) == ("KeepRequest", ABOUT)
    assert way.assigned["failure"]["name"] == "RecoveriesUsedUp"
    assert " 6 times" in way.assigned["failure"]["message"]


def test_an_owner_that_lives_may_have_been_recovered_however_often(state: States) -> None:
    for status in ALIVE:
        assert alive(state, status, recoveries=60).to == "AcknowledgeDuplicate"
    assert alive(state, "TOO_LARGE", recoveries=60).to == "ReadOwnerHistory", "whether it lives is not known yet"


BEGINNING = {"pageSize": 40, "pages": 0, "succeeded": False, "decided": False}


def test_what_an_owner_is_said_to_be_is_taken_and_its_history_not_looked_at_yet(state: States) -> None:
    check = state("CheckOwner")
    assert check.asks({"record": found()}) == {"ExecutionArn": THEIRS, "IncludedData": "METADATA_ONLY"}
    assert check.takes({"Status": "ABORTED"}, {}) == Way(
        "IsOwnerAlive", {"ownerStatus": "ABORTED", "history": BEGINNING}
    )


@pytest.mark.parametrize(
    ("error", "status"),
    [(GONE, "DOES_NOT_EXIST"), (TOO_LARGE, "TOO_LARGE"), ("States.Timeout", "UNKNOWN"), ("SomethingNew", "UNKNOWN")],
)
def test_an_owner_that_cannot_be_asked_counts_as_alive_unless_it_does_not_exist(
    error: str, status: str, state: States
) -> None:
    way = state("CheckOwner").fails(error, {})
    assert way == Way("IsOwnerAlive", {"ownerStatus": status, "history": BEGINNING})


# ---- what did it last do? ----


def entered(id: int, name: str) -> dict[str, Any]:
    return {"Id": id, "Type": "TaskStateEntered", "StateEnteredEventDetails": {"Name": name}}


def task(id: int, end: str = "Succeeded", resource: str = "lambda", **details: str) -> dict[str, Any]:
    return {"Id": id, "Type": f"Task{end}", f"Task{end}EventDetails": {"ResourceType": resource, **details}}


def read(state: States, events: list[dict[str, Any]], more: str | None = None, **before: Any) -> dict[str, Any]:
    """What is known of the history after a page of it."""
    result = {"Events": events, **({} if more is None else {"NextToken": more})}
    way = state("ReadOwnerHistory").takes(result, {"history": {**BEGINNING, **before}})
    assert way.to == "HowFarDidOwnerGet"
    known: dict[str, Any] = way.assigned["history"]
    return known


ABORTED = {"Id": 99, "Type": "ExecutionAborted"}
FINISHES = ("IsResponseLarge", "CacheResponse", "Finalize", "RecordFailure", "KeepRequest", "RecordQuarantine")
LAST_STEPS = ("ExecuteBusinessLogic", "ClassifyFailure", "BackOff", *FINISHES)
NO_STEPS = ("ReceiveRequest", "ReadRecord", "ExistingStatus", "CheckOwner", "RenewLock", "WaitForOwner")
TAKES_THE_LOCK = ("AcquireLock", "TakeOverLock", "RetryFailed")


def test_a_history_is_read_newest_first_in_pages_without_data(state: States) -> None:
    asks = {"ExecutionArn": THEIRS, "ReverseOrder": True, "IncludeExecutionData": False, "MaxResults": 40}
    history = state("ReadOwnerHistory")
    assert history.asks({"record": found(), "history": BEGINNING}) == asks
    next_page = history.asks({"record": found(), "history": {**BEGINNING, "nextToken": "t", "pageSize": 1}})
    assert next_page == {**asks, "NextToken": "t", "MaxResults": 1}


@pytest.mark.parametrize("name", LAST_STEPS)
def test_the_newest_step_is_the_last_one(name: str, state: States) -> None:
    known = read(state, [ABORTED, entered(9, name), entered(5, "ExecuteBusinessLogic"), entered(3, "Finalize")], "t")
    assert known == {
        "pageSize": 40,
        "pages": 1,
        "ended": True,
        "succeeded": False,
        "decided": False,
        "neverStarted": False,
        "wasFirst": False,
        "unreadable": False,
        "lastStep": name,
    }


def test_what_comes_before_the_lock_is_no_step_and_the_next_page_is_read(state: States) -> None:
    events = [entered(id, name) for id, name in enumerate(NO_STEPS)]
    known = read(state, events, "t")
    assert "lastStep" not in known
    assert (known["nextToken"], known["neverStarted"]) == ("t", False)
    known = read(state, events)
    assert "lastStep" not in known
    assert "nextToken" not in known
    assert known["neverStarted"] is True


@pytest.mark.parametrize("name", TAKES_THE_LOCK)
def test_an_owner_that_got_no_further_than_its_lock_never_started(name: str, state: States) -> None:
    known = read(state, [ABORTED, entered(9, name), entered(5, "ExecuteBusinessLogic")], "t")
    assert "lastStep" not in known
    assert "nextToken" not in known
    assert (known["neverStarted"], known["unreadable"]) == (True, False)


@pytest.mark.parametrize(
    ("newest", "ended"),
    [
        ("ExecutionFailed", True),
        ("ExecutionTimedOut", True),
        ("ExecutionAborted", True),
        ("ExecutionSucceeded", True),
        ("ExecutionRedriven", False),
        ("TaskStateEntered", False),
    ],
)
def test_an_execution_has_ended_when_its_newest_event_is_an_end(newest: str, ended: bool, state: States) -> None:
    assert read(state, [{"Id": 9, "Type": newest}, ABORTED])["ended"] is ended
    assert read(state, [{"Id": 9, "Type": newest}])["ended"] is ended
    assert "ended" not in read(state, []), "a page without events says nothing"
    assert read(state, [{"Id": 9, "Type": newest}], ended=not ended)["ended"] is not ended, "the first page knows"


def test_a_success_counts_when_it_came_after_the_last_start(state: States) -> None:
    start = entered(5, "ExecuteBusinessLogic")
    assert read(state, [ABORTED, task(6), start])["succeeded"] is True
    assert read(state, [ABORTED, start, task(4)])["succeeded"] is False
    assert read(state, [ABORTED, task(5), start])["succeeded"] is False
    assert read(state, [ABORTED, task(6, resource="dynamodb"), start])["succeeded"] is False
    assert read(state, [ABORTED, task(6, end="Failed"), start])["succeeded"] is False
    assert read(state, [ABORTED, task(6)], "t")["succeeded"] is True, "its start is on a page that is not read yet"


def test_a_success_on_an_earlier_page_is_remembered(state: States) -> None:
    assert read(state, [entered(5, "ExecuteBusinessLogic")], succeeded=True)["succeeded"] is True
    assert read(state, [entered(5, "ExecuteBusinessLogic")], decided=True)["decided"] is True
    assert read(state, [], pages=3)["pages"] == 4
    assert read(state, [], pageSize=1)["pageSize"] == 1


@pytest.mark.parametrize("error", ["PermanentError", "NeedsAttention", "LockLostError", None])
def test_a_decision_of_business_logic_counts_when_it_came_after_the_last_start(
    error: str | None, state: States
) -> None:
    details = {} if error is None else {"Error": error}
    start = entered(5, "ExecuteBusinessLogic")
    assert read(state, [ABORTED, task(6, "Failed", **details), start])["decided"] is True
    assert read(state, [ABORTED, start, task(4, "Failed", **details)])["decided"] is False
    assert read(state, [ABORTED, task(5, "Failed", **details), start])["decided"] is False
    assert read(state, [ABORTED, task(6, "Failed", "dynamodb", **details), start])["decided"] is False
    assert read(state, [ABORTED, task(6, "Succeeded", **details), start])["decided"] is False
    assert read(state, [ABORTED, task(6, "Failed", **details)], "t")["decided"] is True


def test_any_other_error_of_business_logic_is_no_decision(state: States) -> None:
    failed = task(6, "Failed", Error="States.Timeout")
    assert read(state, [ABORTED, failed, entered(5, "ExecuteBusinessLogic")])["decided"] is False


def test_a_history_of_more_than_a_thousand_pages_is_not_read_to_its_end(state: States) -> None:
    assert read(state, [], "t", pages=999)["unreadable"] is False
    assert read(state, [], "t", pages=1000)["unreadable"] is True
    assert read(state, [entered(5, "Finalize")], "t", pages=1000)["unreadable"] is False
    assert read(state, [], None, pages=1000)["unreadable"] is False


def test_a_history_that_is_gone_says_that_its_execution_ended_and_nothing_else(state: States) -> None:
    known = {"ended": True, "succeeded": False, "decided": False, "neverStarted": False, "unreadable": False}
    assert state("ReadOwnerHistory").fails(GONE, {}) == Way("HowFarDidOwnerGet", {"history": known})


def test_a_page_that_is_too_large_is_asked_for_event_by_event_and_then_given_up(state: States) -> None:
    history = state("ReadOwnerHistory")
    again = {"pageSize": 1, "pages": 0, "succeeded": False, "decided": False}
    before = {**BEGINNING, "succeeded": True, "nextToken": "t"}
    assert history.fails(TOO_LARGE, {"history": before}) == Way("HowFarDidOwnerGet", {"history": again})
    given_up = history.fails(TOO_LARGE, {"history": {**again, "nextToken": "u"}})
    assert given_up == Way("HowFarDidOwnerGet", {"history": {**again, "nextToken": "u", "unreadable": True}})


def test_a_history_that_cannot_be_read_now_leaves_its_owner_alive(state: States) -> None:
    for error in ("States.Timeout", "SomethingNew"):
        assert state("ReadOwnerHistory").fails(error, {}) == Way("IsOwnerAlive", {"ownerStatus": "UNKNOWN"})


# ---- how far did it get? ----


def how_far(
    state: States, refused: bool = False, status: str = "ABORTED", record: dict[str, Any] | None = None, **known: Any
) -> Way:
    history = {"ended": True, "succeeded": False, "decided": False, "neverStarted": False, "unreadable": False, **known}
    history = {name: value for name, value in history.items() if value is not None}
    variables = {"history": history, "record": record or found(), "redriveRefused": refused, "ownerStatus": status}
    return state("HowFarDidOwnerGet").chooses(variables)


def quarantined(way: Way) -> str:
    """The error's name of what goes to the operator, about the owner that was read."""
    assert (way.to, way.assigned["about"]) == ("KeepRequest", ABOUT)
    name: str = way.assigned["failure"]["name"]
    assert THEIRS in way.assigned["failure"]["message"]
    return name


MESSAGES: list[tuple[dict[str, Any], str]] = [
    ({"unreadable": True}, "how far the owner got cannot be read from its history, which is too large: "),
    ({"lastStep": "ClassifyFailure"}, "business logic ended, but its owner cannot be redriven: "),
    ({"succeeded": True}, "business logic succeeded, but its owner ended before it took the result: "),
    (
        {"lastStep": "ExecuteBusinessLogic", "decided": True},
        "business logic decided how it ends, but its owner ended before it took the result: ",
    ),
    (
        {"record": found(onCrash="quarantine"), "lastStep": "ExecuteBusinessLogic"},
        "the owner ended before business logic was known to succeed, and onCrash is quarantine: ",
    ),
    ({"record": found(attempts="5")}, "business logic was started 5 times and its last owner ended: "),
]


@pytest.mark.parametrize(("known", "message"), MESSAGES)
def test_an_operator_is_told_why_the_owner_cannot_be_followed_and_which_it_is(
    known: dict[str, Any], message: str, state: States
) -> None:
    assert how_far(state, **known).assigned["failure"]["message"] == f"{message}{THEIRS}"


def test_an_owner_whose_history_goes_on_is_alive_whatever_was_said_of_it(state: States) -> None:
    for last in (None, *LAST_STEPS):
        way = how_far(state, ended=False, unreadable=True, lastStep=last)
        assert way == Way("IsOwnerAlive", {"ownerStatus": "RUNNING"})


@pytest.mark.parametrize("last", FINISHES)
def test_an_owner_that_had_decided_is_redriven_and_when_that_was_refused_an_operator_is_asked(
    last: str, state: States
) -> None:
    assert how_far(state, lastStep=last).to == "ClaimRedrive"
    assert how_far(state, lastStep=last, succeeded=True, record=found(attempts="99", onCrash="quarantine")).to == (
        "ClaimRedrive"
    )
    assert quarantined(how_far(state, lastStep=last, refused=True)) == "OwnerCannotFinish"


@pytest.mark.parametrize("last", ["ExecuteBusinessLogic", "BackOff", "ClassifyFailure", None])
def test_an_owner_that_may_start_business_logic_again_is_never_redriven(last: str | None, state: States) -> None:
    for refused in (False, True):
        assert how_far(state, lastStep=last, refused=refused).to not in ("ClaimRedrive", "RedriveOwner")


def test_an_owner_that_died_while_it_classified_a_failure_cannot_finish(state: States) -> None:
    assert quarantined(how_far(state, lastStep="ClassifyFailure")) == "OwnerCannotFinish"


def test_a_history_that_is_not_read_to_the_last_step_is_read_on(state: States) -> None:
    assert how_far(state, nextToken="t").to == "ReadOwnerHistory"
    assert how_far(state, ended=None).to == "ReadOwnerHistory"
    assert quarantined(how_far(state, nextToken="t", unreadable=True)) == "HistoryUnreadable"


@pytest.mark.parametrize("on_crash", ["retry", "quarantine"])
def test_business_logic_that_succeeded_or_decided_is_never_started_again(on_crash: str, state: States) -> None:
    record = found(onCrash=on_crash)
    told = how_far(state, record=record, lastStep="ExecuteBusinessLogic", succeeded=True)
    assert quarantined(told) == "OwnerCannotFinish"
    assert told.assigned["failure"]["message"].startswith("business logic succeeded, but")
    told = how_far(state, record=record, lastStep="ExecuteBusinessLogic", decided=True)
    assert quarantined(told) == "OwnerCannotFinish"
    assert told.assigned["failure"]["message"].startswith("business logic decided how it ends, but")
    assert quarantined(how_far(state, record=record, succeeded=True)) == "OwnerCannotFinish"


def test_a_decision_before_a_back_off_was_to_start_again(state: States) -> None:
    assert how_far(state, lastStep="BackOff", decided=True).to == "TakeOverLock"
    assert how_far(state, lastStep="BackOff", decided=True, record=found(onCrash="quarantine")).to == "TakeOverLock"


def test_what_must_not_be_started_again_waits_for_the_operator_unless_it_surely_did_not_start(state: States) -> None:
    careful = found(onCrash="quarantine")
    assert how_far(state, lastStep="ExecuteBusinessLogic").to == "TakeOverLock"
    assert quarantined(how_far(state, record=careful, lastStep="ExecuteBusinessLogic")) == "OwnerCrashed"
    assert quarantined(how_far(state, record=careful, status="DOES_NOT_EXIST")) == "OwnerCrashed"
    assert how_far(state, record=careful, neverStarted=True).to == "TakeOverLock"
    assert how_far(state, record=found(attempts="99"), neverStarted=True).to == "TakeOverLock", (
        "not started: not counted"
    )
    assert how_far(state, record=careful, lastStep="BackOff").to == "TakeOverLock"


def test_an_operator_who_retries_has_decided(state: States) -> None:
    operators = found(owner=f"{THEIRS}:operator-7", onCrash="quarantine")
    assert how_far(state, record=operators, status="DOES_NOT_EXIST").to == "TakeOverLock"
    assert how_far(state, record=operators, status="ABORTED").to == "KeepRequest"


@pytest.mark.parametrize(("attempts", "to"), [("4", "TakeOverLock"), ("5", "KeepRequest"), ("6", "KeepRequest")])
def test_attempts_that_are_used_up_end_in_quarantine(attempts: str, to: str, state: States) -> None:
    way = how_far(state, record=found(attempts=attempts), lastStep="ExecuteBusinessLogic")
    assert way.to == to
    if to == "KeepRequest":
        assert quarantined(way) == "AttemptsUsedUp"
        assert f" {attempts} times" in way.assigned["failure"]["message"]
    careful = found(attempts=attempts, onCrash="quarantine")
    assert quarantined(how_far(state, record=careful, lastStep="ExecuteBusinessLogic")) == "OwnerCrashed", "said first"


# ---- redrives ----


def test_a_claimed_lease_is_the_one_that_quarantine_would_name(state: States) -> None:
    lease = {"N": str(NOW + 95)}
    way = state("ClaimRedrive").takes({"Attributes": {"leaseExpiresAt": lease}}, {"record": found()})
    assert way == Way("RedriveOwner", {"record": {**found(), "leaseExpiresAt": lease}})


def test_a_redriven_owner_is_alive(state: States) -> None:
    redrive = state("RedriveOwner")
    assert redrive.asks({"record": found()}) == {"ExecutionArn": THEIRS}
    assert redrive.takes({}, {}) == Way("IsOwnerAlive", {"ownerStatus": "RUNNING"})


def test_only_a_refusal_of_a_redrive_is_a_refusal(state: States) -> None:
    for error in (NOT_REDRIVABLE, GONE):
        assert state("RedriveOwner").fails(error, {}) == Way("WaitForNews", {"redriveRefused": True})
    for error in ("Sfn.ThrottlingException", "States.Timeout", "Sfn.ExecutionLimitExceededException"):
        assert state("RedriveOwner").fails(error, {}) == Way("IsOwnerAlive", {"ownerStatus": "UNKNOWN"})


# ---- errors of writes and reads ----

OWN_WRITES = (
    "Finalize",
    "ClaimRedrive",
    "TakeOverLock",
    "RenewLock",
    "RecordFailure",
    "RecordQuarantine",
)


@pytest.mark.parametrize("name", [*OWN_WRITES, "AcquireLock", "RetryFailed", "UndoLock"])
def test_a_refused_write_is_explained_by_the_record(name: str, state: States) -> None:
    assert state(name).fails(CONDITION, {}) == Way("ReadRecord")


@pytest.mark.parametrize("name", [*OWN_WRITES, "CacheResponse", "KeepRequest", "RefuseRequest"])
def test_what_gives_up_dies_where_a_redrive_or_an_heir_goes_on(name: str, state: States) -> None:
    for error in ("States.Timeout", "SomethingNew", *([] if name == "RefuseRequest" else [TOO_LARGE])):
        assert state(name).fails(error, {}) is None


def test_a_refusal_that_is_too_large_for_a_state_leaves_its_input_out(state: States) -> None:
    for error in (TOO_LARGE, "States.Runtime"):
        assert state("RefuseRequest").fails(error, {}) == Way("LeaveInputOut")


@pytest.mark.parametrize(
    ("name", "ran"), [("AcquireLock", False), ("RetryFailed", False), ("ReadRecord", False), ("ReadRecord", True)]
)
def test_a_table_out_of_reach_refuses_the_request_and_claims_nothing(name: str, ran: bool, state: States) -> None:
    way = state(name).fails("DynamoDB.InternalServerError", {"ran": ran})
    assert way is not None
    refusal = way.assigned.pop("refusal")
    if name == "ReadRecord":
        assert (way.to, way.assigned) == ("ExistingStatus", {"isUnread": True, "record": {}})
    else:
        assert (way.to, way.assigned) == ("ReadRecord", {"gaveUp": True})
    for record in ({}, found("FAILED")):
        variables = {"record": record, "ran": ran, "request": {**REQUEST, "onFailed": "retry"}, **way.assigned}
        assert state("ExistingStatus").chooses(variables).to == "RefuseRequest"
    assert refusal["error"] == "Unavailable"
    assert "DynamoDB.InternalServerError" in refusal["message"]
    assert "send the request again with the same key" in refusal["message"]
    assert ("was started here" in refusal["message"]) is ran


@pytest.mark.parametrize("error", [TOO_LARGE, "States.Runtime"])
@pytest.mark.parametrize("ran", [False, True])
def test_a_record_that_no_state_can_carry_refuses_the_request_by_name(ran: bool, error: str, state: States) -> None:
    way = state("ReadRecord").fails(error, {"ran": ran})
    assert way is not None
    refusal = way.assigned["refusal"]
    assert (way.to, refusal["error"]) == ("RefuseRequest", "Unavailable")
    assert error in refusal["message"] and "an operator has to look at the record" in refusal["message"]
    assert ("was started here" in refusal["message"]) is ran


@pytest.mark.parametrize(
    ("name", "to"),
    [
        ("AcquireLock", "ExecuteBusinessLogic"),
        ("RetryFailed", "ExecuteBusinessLogic"),
        ("TakeOverLock", "ExecuteBusinessLogic"),
        ("RenewLock", "ExecuteBusinessLogic"),
        ("RecordFailure", "OperationFailed"),
        ("KeepRequest", "RecordQuarantine"),
        ("RecordQuarantine", "NeedsAttention"),
        ("RefuseRequest", "RequestRefused"),
    ],
)
def test_a_write_that_went_through_leads_on(name: str, to: str, state: States) -> None:
    attributes = {"fence": {"N": "7"}, "leaseExpiresAt": {"N": str(NOW + 95)}}
    lock = {"fence": 3, "attempts": 2, "onCrash": "quarantine", "leaseExpiresAt": NOW}
    variables = {"request": REQUEST, "record": found(onCrash="quarantine"), "lock": lock, "throttled": False}
    assert state(name).takes({"Attributes": attributes}, variables).to == to


@pytest.mark.parametrize(
    ("name", "fence", "attempts", "on_crash"),
    [
        ("AcquireLock", 7, 1, "retry"),
        ("RetryFailed", 4, 1, "retry"),
        ("TakeOverLock", 4, 3, "quarantine"),
        ("RenewLock", 9, 6, "quarantine"),
    ],
)
def test_who_takes_a_lock_knows_its_fence_its_attempts_its_lease_and_its_policy(
    name: str, fence: int, attempts: int, on_crash: str, state: States
) -> None:
    attributes = {"fence": {"N": "7"}, "leaseExpiresAt": {"N": str(NOW + 95)}}
    mine = {"fence": 8, "attempts": 5, "onCrash": "quarantine", "leaseExpiresAt": NOW}
    variables = {"request": REQUEST, "record": found(onCrash="quarantine"), "lock": mine, "throttled": False}
    variables["history"] = {"neverStarted": False}
    way = state(name).takes({"Attributes": attributes}, variables)
    lock = {"fence": fence, "attempts": attempts, "leaseExpiresAt": NOW + 95, "onCrash": on_crash}
    assert way.assigned["lock"] == lock
    if name == "RenewLock":
        throttled = state(name).takes({"Attributes": attributes}, {**variables, "throttled": True})
        assert throttled.assigned["lock"]["attempts"] == attempts - 1, "a throttled call is no attempt"
    if name == "TakeOverLock":
        unused = state(name).takes({"Attributes": attributes}, {**variables, "history": {"neverStarted": True}})
        assert unused.assigned["lock"]["attempts"] == attempts - 1, "nor is one that its owner did not come to"


# ---- failures of business logic ----


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


@pytest.mark.parametrize("policy", [{}, {"on_crash": "quarantine"}, {"attempts": 5}])
def test_an_operation_without_a_function_says_which_one_to_deploy(policy: dict[str, Any], state: States) -> None:
    way = classified(state, "Lambda.ResourceNotFoundException", hasNoFunction=True, **policy)
    assert (way.to, way.assigned["about"], way.assigned["failure"]["name"]) == (
        "KeepRequest",
        MINE,
        "Lambda.ResourceNotFoundException",
    )
    message = way.assigned["failure"]["message"]
    assert message.startswith("operation charge has no function: deploy one called ")
    assert message.endswith("deploy one called once_op-charge:live")


def without_function(state: States, named: str = "", **known: Any) -> Way:
    lock = {"fence": 3, "attempts": 1, "onCrash": "quarantine", "leaseExpiresAt": NOW}
    failure = {"name": "Lambda.ResourceNotFoundException", "message": "m"}
    told = {"throttled": False, "hasNoFunction": True, "hasTime": True, "isFirst": True, "ran": False, "lock": lock}
    classify = state("ClassifyFailure")
    classify = classify.with_text("('' = '' ?", f"('{named}' = '' ?").with_text("$replace('',", f"$replace('{named}',")
    return classify.chooses({"failure": failure, "request": REQUEST, **told, **known})


def test_a_first_attempt_that_finds_no_function_is_refused_and_gives_its_lock_back(state: States) -> None:
    way = without_function(state)
    assert (way.to, way.assigned["refusal"]["error"]) == ("KeepRefused", "InvalidRequest")
    message = "operation charge has no function: deploy one called once_op-charge:live"
    assert way.assigned["refusal"]["message"] == message
    told = without_function(state, "refund=a:live, ship=arn:aws:lambda:eu-west-1:123456789012:function:b")
    assert told.assigned["refusal"]["message"] == f"{message}; the parameter Operations has refund, ship"


@pytest.mark.parametrize(
    "known",
    [
        {"ran": True},
        {"isFirst": False},
        {"lock": {"fence": 3, "attempts": 2, "onCrash": "retry", "leaseExpiresAt": NOW}},
    ],
)
def test_an_operation_that_may_have_begun_is_for_the_operator_when_its_function_is_gone(
    known: dict[str, Any], state: States
) -> None:
    assert without_function(state, **known).to == "KeepRequest"


def test_what_was_kept_as_refused_is_not_begun_anew_when_its_record_is_gone(state: States) -> None:
    """Its own lock would have the fence of the old one, and a late UndoLock would take it away."""
    refused = {"refusal": {"error": "InvalidRequest", "message": "m"}, "ran": False, "request": REQUEST}
    decide = state("ExistingStatus")
    assert decide.chooses({**refused, "record": {}}).to == "RequestRefused"
    assert decide.chooses({**refused, "record": {}, "handedOver": True}).to == "WaitForOwner"
    assert decide.chooses({**refused, "record": found("COMPLETED")}).to == "ReturnStoredResponse"
    assert decide.chooses({**refused, "record": {}, "refusal": {"error": "Unavailable"}}).to == "AcquireLock"


def test_an_operation_without_a_function_is_refused_only_where_nothing_is_recorded(state: States) -> None:
    way = decided(state, {}, function="")
    assert (way.to, way.assigned["refusal"]["error"]) == ("RefuseRequest", "InvalidRequest")
    assert way.assigned["refusal"]["message"] == "operation charge has no function: the parameter Operations has none"
    named = (
        state("ExistingStatus")
        .with_text("('' = '' ?", "('a=b' = '' ?")
        .with_text("$replace('',", "$replace('a=b, c=d',")
    )
    told = named.chooses({"record": {}, "ran": False, "request": {**REQUEST, "function": ""}})
    assert told.assigned["refusal"]["message"] == "operation charge has no function: the parameter Operations has a, c"
    assert decided(state, found("COMPLETED"), function="").to == "ReturnStoredResponse"
    assert decided(state, found("FAILED"), function="", onFailed="retry").to == "OperationFailed"
    assert decided(state, found("QUARANTINED"), function="").to == "NeedsAttention"
    assert decided(state, found(leaseExpiresAt=str(NOW + 5)), function="").to == "AcknowledgeDuplicate"


def test_a_dead_owners_operation_that_has_no_function_any_more_is_for_the_operator(state: States) -> None:
    known = {"record": found(), "history": {"ended": True, "succeeded": False, "lastStep": "ExecuteBusinessLogic"}}
    decide = state("HowFarDidOwnerGet")
    assert decide.chooses({**known, "request": REQUEST, "ownerStatus": "FAILED"}).to == "TakeOverLock"
    way = decide.chooses({**known, "request": {**REQUEST, "function": ""}, "ownerStatus": "FAILED"})
    assert (way.to, way.assigned["about"], way.assigned["failure"]["name"]) == ("KeepRequest", ABOUT, "NoFunction")


def test_whoever_is_not_the_first_owner_knows_it(state: States) -> None:
    assert decided(state, found("FAILED"), onFailed="retry").assigned == {"isFirst": False}


def test_a_lock_that_cannot_be_given_back_is_left_to_recovery(state: States, fast: States) -> None:
    for name in ("KeepRefused", "UndoLock"):
        assert state(name).fails("States.Timeout", {}) is None, "its history says that nothing was started"
        assert fast(name).fails("States.Timeout", {}) == Way("HandedOver", {"handedOver": True, "isStarted": True})


def test_whoever_follows_one_that_found_no_function_may_give_the_lock_back_too(state: States) -> None:
    def follows(name: str) -> Any:
        events = [{"Id": 9, "Type": "ExecutionAborted"}, {"Id": 8, "StateEnteredEventDetails": {"Name": name}}]
        known = {"history": {"pageSize": 40, "pages": 0, "succeeded": False, "decided": False}}
        history = state("ReadOwnerHistory").takes({"Events": events}, known).assigned["history"]
        taken = {"Attributes": {"leaseExpiresAt": {"N": "1"}}}
        way = state("TakeOverLock").takes(taken, {"history": history, "record": found()})
        return history["neverStarted"], way.assigned["isFirst"], way.assigned["lock"]["attempts"]

    assert follows("UndoLock") == follows("KeepRefused") == (True, True, 2)
    assert follows("AcquireLock") == (True, True, 2), "nobody came before whoever got the lock of a new record"
    assert follows("RetryFailed") == follows("TakeOverLock") == (True, False, 2)
    assert follows("ExecuteBusinessLogic") == (False, False, 3)


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
