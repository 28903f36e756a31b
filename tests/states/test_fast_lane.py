"""What the fast lane decides by the record that it read, and how it hands a request over to the full lane."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable
from typing import Any

import pytest
from one_state import EXECUTIONS, FAST_ID, FAST_ME, NOW, STOPS_AT, THEIRS, State, Way
from test_decisions import REQUEST, as_read, found
from test_patience import CONDITION, STARTED
from test_writes import LEASE

States = Callable[..., State]

SMALL = {"as": "request", "not": "requestRef", "value": {"S": "{}"}}
LARGE = {"as": "requestRef", "not": "request", "value": {"M": {"bucket": {"S": "b"}, "key": {"S": "inflight/x.json"}}}}

LAST_MOMENT = STOPS_AT - 30 - 65
"""When an attempt of 30 seconds, and 65 for what comes before and after it, still fits."""
CONFLICTS = {"acknowledge": "AcknowledgeDuplicate", "reject": "OperationInProgress", "wait": "WaitForOwner"}
ERRORS = ("States.Timeout", "SomethingNew")
HELD = str(STOPS_AT + LEASE)
"""Until when the lease of an owner in the fast lane lasts."""


def decided(fast: States, record: dict[str, Any], at: int = NOW, kept: dict[str, Any] = SMALL, **known: Any) -> Way:
    """How ReadRecord and ExistingStatus decide with a record; `known` are policies of the request, and variables."""
    asked = {name: known.pop(name) for name in ("onConflict", "onFailed") if name in known}
    request = {**REQUEST, "kept": kept, **asked}
    variables = {"record": as_read(fast, record, at=at, request=request), "ran": False, "request": request, **known}
    return fast("ExistingStatus", at=at).chooses(variables)


# ---- before a lock is taken ----


def test_a_request_of_nobody_takes_the_lock_while_an_attempt_still_fits(fast: States) -> None:
    assert decided(fast, {}, at=LAST_MOMENT) == Way("AcquireLock")
    assert decided(fast, {}, at=LAST_MOMENT + 1) == Way("HandOver")
    failed = found("FAILED")
    assert decided(fast, failed, at=LAST_MOMENT, onFailed="retry").to == "RetryFailed"
    assert decided(fast, failed, at=LAST_MOMENT + 1, onFailed="retry") == Way("HandOver")


def test_the_time_that_an_attempt_needs_is_what_business_logic_may_take_and_65_seconds(fast: States) -> None:
    decide = fast("ExistingStatus")
    known = {"record": {}, "ran": False, "request": {**REQUEST, "kept": SMALL}}
    for seconds, to in ((230, "AcquireLock"), (231, "HandOver")):
        assert decide.with_text("$number('30')", f"$number('{seconds}')").chooses(known).to == to


def test_an_answer_needs_no_time(fast: States) -> None:
    late = LAST_MOMENT + 50
    assert decided(fast, found("COMPLETED"), at=late).to == "ReturnStoredResponse"
    assert decided(fast, found("FAILED"), at=late).to == "OperationFailed"
    assert decided(fast, found("QUARANTINED"), at=late).to == "NeedsAttention"
    assert decided(fast, found("FAILED", fingerprint="g"), at=late, onFailed="retry").to == "RefuseRequest"
    assert decided(fast, found("FAILED"), at=late, onFailed="retry", ran=True).to == "OperationFailed"


def test_an_operation_of_the_full_lane_is_handed_over_and_its_answers_are_given_here(fast: States) -> None:
    known = {"record": {}, "ran": False, "request": {**REQUEST, "kept": SMALL}}
    for listed, to in (
        ("charge", "HandOver"),
        ("refund,charge", "HandOver"),
        ("charge-payment,recharge", "AcquireLock"),
    ):
        decide = fast("ExistingStatus").with_text("$split('', ',')", f"$split('{listed}', ',')")
        assert decide.chooses(known).to == to
        again = {**known, "record": found("FAILED"), "request": {**known["request"], "onFailed": "retry"}}  # type: ignore[dict-item]
        assert decide.chooses(again).to == ("HandOver" if to == "HandOver" else "RetryFailed")
        assert decide.chooses({**known, "record": found("COMPLETED")}).to == "ReturnStoredResponse"
        assert decide.chooses({**known, "record": found(leaseExpiresAt=HELD)}).to == "AcknowledgeDuplicate"


def test_who_does_not_wait_by_http_leaves_what_is_new_to_the_full_lane(fast: States) -> None:
    for asynchronous, to in ((True, "HandOver"), (False, "AcquireLock")):
        assert decided(fast, {}, http={"async": asynchronous, "seconds": 25}) == Way(to)
    told = decided(fast, found("COMPLETED"), http={"async": True, "seconds": 25})
    assert told == Way("ReturnStoredResponse")


def test_a_large_request_is_in_the_bucket_before_the_lock_is_taken(fast: States) -> None:
    assert decided(fast, {}, kept=LARGE) == Way("KeepInFlight")
    assert decided(fast, {}, kept=LARGE, isKept=True) == Way("AcquireLock")
    assert decided(fast, found("FAILED"), kept=LARGE, onFailed="retry") == Way("KeepInFlight")
    assert decided(fast, found("FAILED"), kept=LARGE, onFailed="retry", isKept=True).to == "RetryFailed"
    assert decided(fast, {}, at=LAST_MOMENT + 1, kept=LARGE) == Way("HandOver"), "which has its own input"


def test_a_large_request_that_takes_no_lock_is_not_kept(fast: States) -> None:
    for status, to in (
        ("COMPLETED", "ReturnStoredResponse"),
        ("FAILED", "OperationFailed"),
        ("QUARANTINED", "NeedsAttention"),
    ):
        assert decided(fast, found(status), kept=LARGE).to == to
    assert decided(fast, found(leaseExpiresAt=HELD), kept=LARGE).to == "AcknowledgeDuplicate"
    assert decided(fast, found("FAILED"), kept=LARGE, onFailed="retry", ran=True).to == "OperationFailed"
    assert decided(fast, found("FAILED"), kept=LARGE, onFailed="retry", handedOver=True).to == "OperationFailed"
    assert decided(fast, found("FAILED", fingerprint="g"), kept=LARGE, onFailed="retry").to == "RefuseRequest"
    assert decided(fast, {}, kept=LARGE, ran=True).to == "LockLost"


def test_a_large_request_is_kept_where_its_record_says(fast: States) -> None:
    keep, given = fast("KeepInFlight"), {"operation": "charge", "payload": {"n": 1.0000000000000002}}
    asks = keep.asks({"request": {**REQUEST, "kept": LARGE}}, given)
    assert (asks["Key"], asks["ContentType"], asks["Body"]) == ("inflight/x.json", "application/json", given)
    assert keep.takes({}, {}) == Way("ReadRecord", {"isKept": True})
    for error in ERRORS:
        assert keep.fails(error, {}) == Way("HandOver"), "the full lane needs no copy"


def test_who_ran_business_logic_says_first_what_became_of_its_own_lock(fast: States) -> None:
    assert decided(fast, {}, ran=True, handedOver=True) == Way("LockLost"), "nobody waits for a record that is gone"
    held = decided(fast, found(owner=FAST_ME), ran=True)
    assert (held.to, held.assigned["failure"]["name"]) == ("KeepRequest", "LockLostError"), (
        "also with a lease that is over"
    )


@pytest.mark.parametrize("ran", [False, True])
def test_a_record_that_cannot_be_read_is_read_by_the_full_lane_unless_its_work_was_begun_here(
    ran: bool, fast: States
) -> None:
    for error in ("DynamoDB.InternalServerError", *ERRORS):
        way = fast("ReadRecord").fails(error, {"ran": ran})
        assert way is not None
        assert (way.to, way.assigned["isUnread"], way.assigned["refusal"]["error"]) == (
            "ExistingStatus",
            True,
            "Unavailable",
        )
    for error in ("States.DataLimitExceeded", "States.Runtime"):
        way = fast("ReadRecord").fails(error, {"ran": ran})
        assert way is not None and way.to == "RefuseRequest", "the full lane cannot carry it either"
    for record in ({}, found(leaseExpiresAt=HELD), found("FAILED"), found("COMPLETED")):
        known = {"isUnread": True, "ran": ran, "onFailed": "retry"}
        assert decided(fast, record, **known) == Way("RefuseRequest" if ran else "HandOver"), "whatever it was before"
        assert decided(fast, record, handedOver=True, **known) == Way("WaitForOwner"), "once is enough"


def test_a_lock_that_was_read_before_may_be_gone_when_a_read_fails(fast: States) -> None:
    """While its owner lives, its name for the full lane must stay free; a failure that is to be tried again stays."""
    for record, kept in ((found(leaseExpiresAt=HELD), {}), ({}, {}), (found("FAILED"), found("FAILED"))):
        way = fast("ReadRecord").fails("SomethingNew", {"ran": False, "record": record})
        assert way is not None and way.assigned["record"] == kept
        assert named(fast, way.assigned["record"]).startswith("first-")


def test_a_lock_that_could_not_be_requested_is_requested_in_the_full_lane(fast: States, state: States) -> None:
    given_up = {"record": {}, "ran": False, "gaveUp": True, "request": {**REQUEST, "kept": SMALL}}
    for name in ("AcquireLock", "RetryFailed"):
        for error in ("DynamoDB.InternalServerError", *ERRORS):
            way = fast(name).fails(error, {})
            assert way is not None
            assert (way.to, way.assigned["gaveUp"], way.assigned["refusal"]["error"]) == (
                "ReadRecord",
                True,
                "Unavailable",
            )
    for record in ({}, found("FAILED")):
        again = {**given_up, "record": record, "request": {**given_up["request"], "onFailed": "retry"}}  # type: ignore[dict-item]
        assert fast("ExistingStatus").chooses(again) == Way("HandOver")
        assert state("ExistingStatus").chooses(again) == Way("RefuseRequest")
    mine = {**given_up, "record": found(owner=FAST_ME, leaseExpiresAt=HELD)}
    assert fast("ExistingStatus").chooses(mine).to == "ExecuteBusinessLogic", "it was taken all the same"
    for record, to in (
        (found("COMPLETED"), "ReturnStoredResponse"),
        (found(leaseExpiresAt=HELD), "AcknowledgeDuplicate"),
    ):
        assert fast("ExistingStatus").chooses({**given_up, "record": record}).to == to, "somebody else was faster"


def test_a_lock_that_cannot_be_renewed_is_released_here_and_in_the_full_lane_left_to_recovery(
    fast: States, state: States
) -> None:
    for error in ("DynamoDB.InternalServerError", *ERRORS):
        assert fast("RenewLock").fails(error, {}) == Way("ReleaseLock")
        assert state("RenewLock").fails(error, {}) is None
    assert fast("RenewLock").fails(CONDITION, {}) == state("RenewLock").fails(CONDITION, {}) == Way("ReadRecord")


# ---- a lock that is there ----


@pytest.mark.parametrize("conflict", CONFLICTS)
@pytest.mark.parametrize("owner", [THEIRS, FAST_ME.replace("nonce", "other")])
def test_a_lease_that_is_over_is_left_to_the_full_lane(conflict: str, owner: str, fast: States) -> None:
    over = found(owner=owner, leaseExpiresAt=str(NOW - 1))
    assert decided(fast, over, onConflict=conflict) == Way("HandOver")
    assert decided(fast, over, onConflict=conflict, handedOver=True) == Way(CONFLICTS[conflict])
    assert decided(fast, over, onConflict=conflict, ran=True) == Way("HandOver"), "replaced, and its heir has died"
    held = found(owner=owner, leaseExpiresAt=str(NOW))
    assert decided(fast, held, onConflict=conflict) == Way(CONFLICTS[conflict])


@pytest.mark.parametrize("owner", ["", "x" * 200_000, "arn:other"])
def test_the_fast_lane_asks_after_no_owner(owner: str, fast: States) -> None:
    assert decided(fast, found(owner=owner, leaseExpiresAt="0")) == Way("HandOver")


def test_another_run_of_the_same_execution_is_another_owner(fast: States) -> None:
    held = found(owner=FAST_ME, leaseExpiresAt=HELD)
    assert decided(fast, held).to == "ExecuteBusinessLogic", "the answer of its own AcquireLock was lost"
    assert decided(fast, held, me=f"{FAST_ID}:other").to == "AcknowledgeDuplicate"
    assert decided(fast, held, ran=True).to == "KeepRequest"
    assert decided(fast, found(owner=FAST_ME), ran=True).to == "KeepRequest", "whatever its lease"
    assert decided(fast, held, ran=True, handedOver=True).to == "AcknowledgeDuplicate", "its lock was released"


def test_a_lock_that_was_released_is_not_worked_under_again(fast: States) -> None:
    """Every attempt was throttled, so that business logic never ran here; the full lane may have started it since."""
    released = {**found(owner=FAST_ME, leaseExpiresAt="0"), "mayStartAgain": {"BOOL": True}}
    assert decided(fast, released, onConflict="wait", handedOver=True) == Way("WaitForOwner")
    kept = found(owner=FAST_ME, leaseExpiresAt=HELD)
    assert decided(fast, kept, onConflict="wait", handedOver=True) == Way("WaitForOwner"), (
        "a late ReleaseLock may follow"
    )


@pytest.mark.parametrize(
    ("known", "to"),
    [({}, "RetryFailed"), ({"at": LAST_MOMENT + 1}, "HandOver"), ({"kept": LARGE}, "KeepInFlight")],
    ids=["in time", "late", "large"],
)
def test_a_second_run_does_not_try_again_what_the_first_failed(known: dict[str, Any], to: str, fast: States) -> None:
    mine, another = (as_read(fast, found("FAILED", owner=f"{run}:first-run")) for run in (FAST_ID, f"{FAST_ID}0"))
    assert decided(fast, mine, onFailed="retry", **known).to == "OperationFailed"
    assert decided(fast, another, onFailed="retry", **known).to == to


def test_a_run_knows_what_a_run_of_its_execution_held_or_handed_over(fast: States, state: States) -> None:
    """One that comes late finds the failure of an execution of the full lane that the first has started."""
    mine = [f"{FAST_ID}:{'1f' * 18}", *(EXECUTIONS + name for name in names_for(fast, state, FAST_ID))]
    theirs = [f"{FAST_ID}0:{'1f' * 18}", *(EXECUTIONS + name for name in names_for(fast, state, f"{FAST_ID}0"))]
    for owner in mine:
        item = found("FAILED", owner=owner)
        assert as_read(fast, item) == {**item, "isOwn": True}
        assert as_read(state, item) == item, "another execution has another ARN"
    like_mine = mine[1][:-20] + "x" * 20
    for owner in (*theirs, "", FAST_ID, THEIRS, like_mine, f"{EXECUTIONS}first-{'0' * 40}"):
        item = found("FAILED", owner=owner)
        assert as_read(fast, item) == item
    of_another_id = found("FAILED", owner=mine[-1])
    assert as_read(fast, of_another_id, request={**REQUEST, "idHash": "b" * 64}) == of_another_id
    assert as_read(fast, {}) == {}


def names_for(fast: States, state: States, execution: str) -> list[str]:
    """Of what is started in the full lane for an execution of the fast lane, or for a lock of one of its runs."""
    owner = f"{execution}:{'1f' * 18}"
    first = f"first-{hashlib.sha256(execution.encode()).hexdigest()[:40]}"
    asks = {"id": "acme#charge#k", "record": {"owner": owner, "fence": "3"}, "recoveries": 2, "owner": {"input": "{}"}}
    return [
        first,
        f"operator-{'0' * 12}-{first}",
        named(fast, found(owner=owner)),
        state("StartRecovery").asks(asks)["Name"],
    ]


# ---- after a request was handed over ----


@pytest.mark.parametrize("at", [NOW, LAST_MOMENT + 1])
def test_what_was_handed_over_is_waited_for(at: int, fast: States) -> None:
    for kept in (SMALL, LARGE):
        assert decided(fast, {}, at=at, kept=kept, handedOver=True) == Way("WaitForOwner")
    gone = fast("ExistingStatus", at=at).chooses(
        {"record": {}, "ran": False, "handedOver": True, "request": {**REQUEST, "kept": SMALL, "function": ""}}
    )
    assert gone == Way("WaitForOwner"), "without a function, too: the full lane refuses it, and once is enough"
    failed = found("FAILED", fence="3")
    for asked in ("replay", "retry"):
        again = decided(fast, failed, at=at, handedOver=True, failedFence="3", onFailed=asked)
        assert again == Way("WaitForOwner"), "the failure that it was to try again"
        for before in ("2", ""):
            told = decided(fast, failed, at=at, handedOver=True, failedFence=before, onFailed=asked)
            assert told.to == "OperationFailed", "the full lane has tried"
    for status, to in (("COMPLETED", "ReturnStoredResponse"), ("QUARANTINED", "NeedsAttention")):
        assert decided(fast, found(status), at=at, handedOver=True, failedFence="3").to == to
    assert decided(fast, {}, at=at, handedOver=True, ran=True).to == "LockLost"
    assert decided(fast, found(fingerprint="g"), handedOver=True).to == "RefuseRequest"


def named(fast: States, record: dict[str, Any]) -> str:
    given = {"payload": {"n": 1.0000000000000002}}
    asks = fast("HandOver").asks({"record": record, "request": REQUEST}, given)
    assert asks["Input"] == given
    found: str = asks["Name"]
    return found


def test_all_duplicates_that_meet_one_lock_start_one_execution(fast: States) -> None:
    of_id, of_owner = (hashlib.sha256(text.encode()).hexdigest() for text in ("acme#charge#k", THEIRS))
    assert named(fast, found()) == f"handover-{of_id[:32]}-{of_owner[:8]}-3-0"
    recovered = named(fast, {**found(fence="17"), "recoveries": {"N": "20"}})
    assert recovered == f"handover-{of_id[:32]}-{of_owner[:8]}-17-20"
    of_execution = hashlib.sha256(FAST_ID.encode()).hexdigest()
    for run in (FAST_ME, f"{FAST_ID}:other"):
        assert named(fast, found(owner=run)) == f"handover-{of_id[:32]}-{of_execution[:8]}-3-0"


@pytest.mark.parametrize("record", [{}, found("FAILED"), found("COMPLETED")])
def test_where_no_lock_is_each_execution_starts_one_however_often_it_runs(record: dict[str, Any], fast: States) -> None:
    assert named(fast, record) == f"first-{hashlib.sha256(FAST_ID.encode()).hexdigest()[:40]}"


def test_what_was_handed_over_is_remembered(fast: States) -> None:
    hand = fast("HandOver")
    for record, fence in ((found("FAILED"), "3"), (found(), ""), ({}, "")):
        known = {"handedOver": True, "isStarted": True, "failedFence": fence}
        assert hand.takes({}, {"record": record}) == Way("HandedOver", known)
        assert hand.fails(STARTED, {"record": record}) == Way("HandedOver", known), "another was faster"
        for error in ERRORS:
            lost = {"handedOver": True, "isStarted": False, "failedFence": ""}
            assert hand.fails(error, {"record": record}) == Way("HandedOver", lost)


@pytest.mark.parametrize("conflict", CONFLICTS)
def test_who_handed_over_waits_or_not_as_it_asked_and_only_a_lock_of_another_is_a_conflict(
    conflict: str, fast: States
) -> None:
    asked = {"request": {**REQUEST, "onConflict": conflict}}
    theirs, mine = found(), found(owner=FAST_ME)
    for record, started in itertools.product((theirs, mine, {}, found("FAILED")), (True, False)):
        way = fast("HandedOver").chooses({**asked, "record": record, "isStarted": started})
        if started or record in (theirs, mine):
            is_first = conflict == "reject" and record != theirs
            assert way == Way("AcknowledgeDuplicate" if is_first else CONFLICTS[conflict]), "recovery completes a lock"
        else:
            assert (way.to, way.assigned["refusal"]["error"]) == ("RefuseRequest", "Unavailable"), "nobody has it"
            assert "send it again with the same key" in way.assigned["refusal"]["message"]


def test_what_is_handed_over_is_started_by_the_alias_of_the_full_lane(fast: States) -> None:
    assert fast("HandOver").raw["Arguments"]["StateMachineArn"].endswith("OperationStateMachine:live")


def test_who_knows_no_record_yet_is_told_of_no_attempt(fast: States) -> None:
    told = fast("AcknowledgeDuplicate")
    request = {"id": "acme#charge#k", "operation": "charge", "tenant": "acme", "idempotencyKey": "k"}
    for record, attempt in (({}, 0), (found(), 2)):
        output = told.value("Output", {"request": REQUEST, "record": record})
        assert output == {"disposition": "IN_PROGRESS", **request, "attempt": attempt}


# ---- another attempt ----


def failed_at(fast: States, at: int, **known: int) -> bool:
    variables = {"ran": False, "backOffs": 0, **known}
    way = fast("ExecuteBusinessLogic", at=at).fails("SomethingNew", variables, "no")
    assert way is not None and way.to == "ClassifyFailure"
    found: bool = way.assigned["hasTime"]
    return found


@pytest.mark.parametrize(("back_offs", "longest"), [(0, 2), (1, 4), (4, 32), (5, 60), (60, 60)])
def test_another_attempt_has_time_when_its_back_off_and_it_end_before_the_execution(
    back_offs: int, longest: int, fast: States
) -> None:
    assert failed_at(fast, LAST_MOMENT - longest, backOffs=back_offs)
    assert not failed_at(fast, LAST_MOMENT - longest + 1, backOffs=back_offs)


def test_the_back_off_is_bounded_and_the_full_lane_has_all_day(fast: States, state: States) -> None:
    fails = fast("ExecuteBusinessLogic").with_text("$number('60')", "$number('3600')")
    for back_offs, has_time in ((6, True), (7, False), (5000, False)):
        way = fails.fails("E", {"ran": False, "backOffs": back_offs}, "no")
        assert way is not None and way.assigned["hasTime"] is has_time, "128 s, 256 s and the cap, an hour"
    assert failed_at(state, STOPS_AT + 1000, backOffs=60)


def classified(fast: States, name: str, on_crash: str = "retry", attempts: int = 1, **known: bool) -> Way:
    lock = {"fence": 3, "attempts": attempts, "onCrash": on_crash, "leaseExpiresAt": NOW}
    told = {"throttled": False, "hasNoFunction": False, "hasTime": False, **known}
    return fast("ClassifyFailure").chooses(
        {"failure": {"name": name, "message": "m"}, "lock": lock, "request": REQUEST, **told}
    )


def test_an_attempt_that_this_lane_has_no_time_for_is_left_to_the_full_lane(fast: States) -> None:
    assert classified(fast, "E") == Way("ReleaseLock")
    assert classified(fast, "E", hasTime=True) == Way("BackOff")
    for on_crash, attempts in itertools.product(("retry", "quarantine"), (1, 5)):
        assert classified(fast, "T", on_crash, attempts, throttled=True) == Way("ReleaseLock")
        assert classified(fast, "T", on_crash, attempts, throttled=True, hasTime=True) == Way("BackOff")


def test_no_time_changes_no_decision(fast: States) -> None:
    assert classified(fast, "PermanentError", throttled=True) == Way("RecordFailure")
    assert classified(fast, "LockLostError", throttled=True) == Way("ReadRecord")
    for way in (
        classified(fast, "E", hasNoFunction=True),
        classified(fast, "E", on_crash="quarantine"),
        classified(fast, "E", attempts=5),
        classified(fast, "NeedsAttention"),
    ):
        about = {"owner": FAST_ME, "fence": "3", "lease": str(NOW)}
        assert (way.to, way.assigned["about"]) == ("KeepRequest", about)


def test_a_released_lock_is_handed_over_as_it_was_written(fast: States) -> None:
    release = fast("ReleaseLock")
    assert release.raw["Arguments"]["ReturnValues"] == "ALL_NEW"
    assert release.takes({"Attributes": found()}, {}) == Way("HandOver", {"record": found()})
    assert release.fails(CONDITION, {}) == Way("ReadRecord")
    for error in ERRORS:
        lost = Way("HandedOver", {"handedOver": True, "isStarted": True})
        assert release.fails(error, {}) == lost, "the lease ends later, and recovery continues then"
