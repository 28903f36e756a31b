"""What a request does about the record that it finds, and about an owner whose lease is over.

The state that reads and the one that decides are taken together: what is between them nobody sees.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from one_state import FAST_ID, MAX_ATTEMPTS, ME, NOW, STOPS_AT, State, Way

States = Callable[..., State]

BUSINESS_SECONDS = 30
A_DAY = 86_400
MINE, OTHERS = "f" * 64, "0" * 64
OWNER = ME.replace(":me", ":owner")
ASKS = ("acknowledge", "reject", "wait")
BOTH = pytest.mark.parametrize("lane", ["full", "fast"])
OPEN: dict[str, Any] = {"leaseExpiresAt": {"N": str(NOW + 60)}}
LARGE: dict[str, Any] = {"kept": {"isLarge": True}}
ASYNC = {"http": {"async": True, "acknowledges": False, "seconds": 25}}
LONG_AGO = "2025-12-31T00:00:00.000Z"
FAILED = {"status": {"S": "FAILED"}, "error": {"M": {"name": {"S": "PermanentError"}, "message": {"S": "no"}}}}


def record(**more: Any) -> dict[str, Any]:
    return {
        "id": {"S": "acme#charge#k"},
        "status": {"S": "IN_PROGRESS"},
        "owner": {"S": OWNER},
        "fence": {"N": "3"},
        "attempts": {"N": "1"},
        "onCrash": {"S": "retry"},
        "fingerprint": {"S": MINE},
        **more,
    }


def known(asks: str = "acknowledge", **more: Any) -> dict[str, Any]:
    """What an execution knows when it reads."""
    request = {"operation": "charge", "tenant": "acme", "idempotencyKey": "k", "onFailed": "retry", "onConflict": asks}
    return {
        "request": request,
        "fingerprint": MINE,
        "kept": {"isLarge": False},
        "isKept": False,
        "isRecovery": False,
        "function": "my-charge:live",
        "seen": False,
        "handedOver": False,
        "gaveUp": False,
        "startedAt": NOW * 1000,
        "waiting": {"deadline": NOW + 300, "seconds": 1},
        **more,
    }


@pytest.fixture
def meets(state: States, fast: States) -> Callable[..., Way]:
    """Where a record, or none, leads an execution that knows this, and may have read another one first."""

    def leads(lane: str, item: dict[str, Any] | None, knows: dict[str, Any], at: float = NOW, first: Any = None) -> Way:
        names = ("ReadRecord", "ExistingStatus")
        states = {name: (fast(name, at) if lane == "fast" else state(name)) for name in names}
        for each in (first, item) if first else (item,):
            read = states["ReadRecord"].takes({} if each is None else {"Item": each}, knows)
            knows = {**knows, **read.assigned}
        return states["ExistingStatus"].chooses(knows)

    return leads


Meets = Callable[..., Way]

# ---- the order of one second ----


@BOTH
def test_an_answer_is_given_up_to_the_second_in_which_it_expires(meets: Meets, lane: str) -> None:
    done = {"status": {"S": "COMPLETED"}, "result": {"S": "1"}, "finishedAt": {"S": LONG_AGO}}
    assert meets(lane, record(**done, expiresAt={"N": str(NOW)}), known()).to == "ReturnStoredResponse"
    assert meets(lane, record(**done, expiresAt={"N": str(NOW - 1)}), known()).to == "AcquireLock"


@BOTH
def test_a_failure_is_tried_again_only_by_a_request_that_came_after_it(meets: Meets, lane: str) -> None:
    for at, to in (("2025-12-31T23:59:59.999Z", "AcquireLock"), ("2026-01-01T00:00:00.000Z", "OperationFailed")):
        failed = record(**FAILED, finishedAt={"S": at}, expiresAt={"N": str(NOW + A_DAY)})
        assert meets(lane, failed, known()).to == to


def test_an_owner_is_asked_after_the_last_second_of_its_lease(meets: Meets) -> None:
    for lease, to in ((NOW, "AcknowledgeDuplicate"), (NOW - 1, "CheckOwner")):
        assert meets("full", record(leaseExpiresAt={"N": str(lease)}), known()).to == to


def test_an_owner_that_can_be_asked_is_asked_however_long_its_lease_is_over(meets: Meets) -> None:
    for over in (1, 3 * A_DAY, 99 * A_DAY):
        assert meets("full", record(leaseExpiresAt={"N": str(NOW - over)}), known()).to == "CheckOwner"
    cannot_be_asked = record(owner={"S": f"{FAST_ID}:nonce"}, leaseExpiresAt={"N": str(NOW - 1)})
    assert meets("full", cannot_be_asked, known()).to == "IsOwnerAlive"


@BOTH
@pytest.mark.parametrize(
    ("asks", "before", "after"),
    [
        ("wait", "WaitForOwner", "OperationInProgress"),
        ("acknowledge", "AcknowledgeDuplicate", "AcknowledgeDuplicate"),
        ("reject", "OperationInProgress", "OperationInProgress"),
    ],
)
def test_only_who_waits_has_a_deadline(meets: Meets, lane: str, asks: str, before: str, after: str) -> None:
    """By HTTP, too, where who prefers not to wait at all has one at once."""
    http = {"acknowledges": True, "async": False, "seconds": 0}
    for seconds, to in ((1, before), (0, after), (-1, after)):
        knows = known(asks, waiting={"deadline": NOW + seconds, "seconds": 1})
        assert meets(lane, record(**OPEN), knows).to == to
        accepted = "AcknowledgeDuplicate" if asks == "wait" and seconds < 1 else to
        assert lane == "full" or meets(lane, record(**OPEN), {**knows, "http": http}).to == accepted


def test_the_fast_lane_begins_what_still_fits_into_its_time(meets: Meets) -> None:
    last = STOPS_AT - BUSINESS_SECONDS - 65
    assert meets("fast", None, known(), last).to == "AcquireLock"
    assert meets("fast", None, known(), last + 1).to == "HandOver"


def test_a_throttled_call_is_tried_again_for_a_day(state: States) -> None:
    throttled = {"failure": {"name": "Lambda.TooManyRequestsException"}, "raised": False, "function": "my-charge:live"}
    lock = {"fence": 3, "attempts": 3, "onCrash": "quarantine"}
    for seconds, to in ((A_DAY - 1, "TakeNextFence"), (A_DAY, "RecordQuarantine")):
        since = {"throttled": {"times": 90, "since": NOW - seconds}}
        assert state("ClassifyFailure").chooses({**throttled, "lock": lock, **since}).to == to


# ---- what has an end ----


@BOTH
@pytest.mark.parametrize(
    "more",
    [{}, {"seen": True}, {"handedOver": True}, {"ran": True, "seen": True}, {"gaveUp": True}, LARGE, ASYNC],
    ids=str,
)
def test_what_has_an_end_is_told_to_whoever_comes(meets: Meets, lane: str, more: dict[str, Any]) -> None:
    """Whatever onFailed asks, what is no failure is not tried again."""
    error = {"error": FAILED["error"], "finishedAt": {"S": LONG_AGO}}
    kept = {"expiresAt": {"N": str(NOW + A_DAY)}}
    completed = record(status={"S": "COMPLETED"}, result={"S": "1"}, finishedAt={"S": LONG_AGO}, **kept)
    quarantined = record(**OPEN, **error, status={"S": "QUARANTINED"})
    now = record(**FAILED, **kept, finishedAt={"S": "2026-01-01T00:00:00.000Z"})
    for asks in ASKS:
        knows = known(asks, **more)
        assert meets(lane, completed, knows).to == "ReturnStoredResponse"
        assert meets(lane, quarantined, knows).to == "NeedsAttention"
        assert meets(lane, now, knows).to == "OperationFailed"
        replays = {**knows, "request": {**knows["request"], "onFailed": "replay"}}
        assert meets(lane, record(**FAILED, **kept, finishedAt={"S": LONG_AGO}), replays).to == "OperationFailed"


@BOTH
def test_a_lock_that_was_reported_lost_and_was_not_is_for_the_operator(meets: Meets, lane: str) -> None:
    mine = record(owner={"S": ME if lane == "full" else f"{FAST_ID}:nonce"}, **OPEN)
    assert meets(lane, mine, known(ran=True, seen=True)).to == "RecordQuarantine"
    assert meets(lane, record(**OPEN), known(ran=True, seen=True)).to == "AcknowledgeDuplicate"


@pytest.mark.parametrize(("lane", "to"), [("fast", "AcknowledgeDuplicate"), ("full", "CheckOwner")])
def test_a_lock_that_was_given_back_is_no_more_ones_own(meets: Meets, lane: str, to: str) -> None:
    released = record(owner={"S": ME if lane == "full" else f"{FAST_ID}:nonce"}, leaseExpiresAt={"N": "0"})
    for ran in (False, True):
        assert meets(lane, released, known(ran=ran, seen=True)).to == to


@BOTH
def test_ones_own_lock_whose_answer_was_lost_is_worked_under_in_the_full_lane(meets: Meets, lane: str) -> None:
    """An Express execution may run twice, so in the fast lane it may be the other run's."""
    mine = record(owner={"S": ME if lane == "full" else f"{FAST_ID}:nonce"}, **OPEN)
    assert meets(lane, mine, known()).to == ("ExecuteBusinessLogic" if lane == "full" else "AcknowledgeDuplicate")


@pytest.mark.parametrize(
    ("more", "by_http", "else_"),
    [
        ({}, "RequestRefused", "HandOver"),
        ({"seen": True}, "AcknowledgeDuplicate", "AcknowledgeDuplicate"),
        ({"handedOver": True}, "AcknowledgeDuplicate", "AcknowledgeDuplicate"),
    ],
)
def test_a_table_that_cannot_be_read_loses_nothing_that_was_accepted(
    fast: States, more: dict[str, Any], by_http: str, else_: str
) -> None:
    """And runs nothing twice: what has a record, or was handed over, is somebody's already."""
    for http, to in (({}, else_), ({"seconds": 25}, by_http)):
        knows = known(**more, http=http)
        read = fast("ReadRecord").fails("DynamoDB.InternalServerErrorException", knows)
        assert fast("ExistingStatus").chooses({**knows, **read.assigned}).to == to


# ---- whose lock it is, and was ----


@BOTH
def test_who_has_run_is_never_told_that_another_payload_came_first(meets: Meets, lane: str) -> None:
    """Its own record is gone, and the key taken by another: Finalize is refused, and what was done was accepted."""
    other = record(fingerprint={"S": OTHERS}, **OPEN)
    assert meets(lane, other, known(ran=True, seen=True)).to == "LockLost"
    refused = meets(lane, other, known())
    assert (refused.to, refused.assigned["refusedAs"]) == (
        "IsSentByHttp" if lane == "fast" else "RefuseRequest",
        "PayloadMismatch",
    )


def test_a_recovery_is_never_told_that_another_payload_came_first(meets: Meets) -> None:
    assert meets("full", record(fingerprint={"S": OTHERS}, **OPEN), known(isRecovery=True)).to == "LockLost"
    assert meets("full", None, known(isRecovery=True)).to == "LockLost"


@BOTH
def test_a_lock_that_is_gone_is_lost_to_all_who_have_seen_it(meets: Meets, lane: str) -> None:
    """An operator released it: who waits for it as a duplicate does not begin, either."""
    assert meets(lane, None, known("wait"), first=record(**OPEN)).to == "LockLost"
    assert meets(lane, None, known("wait"), first=record(fingerprint={"S": OTHERS}, **OPEN)).to == "AcquireLock"
    assert meets(lane, None, known(seen=True)).to == "LockLost"
    assert meets(lane, None, known()).to == "AcquireLock"


@pytest.mark.parametrize("item", [None, "failed", "mine"])
def test_what_was_handed_over_is_not_run_here(meets: Meets, item: str | None) -> None:
    """The full lane has it, or had: its failure is newer than the request, whatever two clocks say."""
    failed = {**FAILED, "finishedAt": {"S": LONG_AGO}, "expiresAt": {"N": str(NOW + A_DAY)}}
    items = {"failed": record(**failed), "mine": record(owner={"S": f"{FAST_ID}:nonce"}, **OPEN)}
    handed_over = known(handedOver=True)
    assert meets("fast", item and items[item], handed_over).to == "AcknowledgeDuplicate"
    assert meets("fast", None, {**handed_over, "seen": True}).to == "LockLost"


@pytest.mark.parametrize(
    ("knows", "owner", "to"),
    [
        ({}, OWNER, "OperationInProgress"),
        ({"ran": True}, OWNER, "AcknowledgeDuplicate"),
        ({"handedOver": True}, OWNER, "AcknowledgeDuplicate"),
        ({}, f"{FAST_ID}:nonce", "AcknowledgeDuplicate"),
    ],
)
def test_reject_is_for_duplicates_alone(meets: Meets, knows: dict[str, Any], owner: str, to: str) -> None:
    """Not for the first request to come, of which another goes on with the work."""
    assert meets("fast", record(owner={"S": owner}, **OPEN), known("reject", **knows)).to == to


@pytest.mark.parametrize("item", [None, record(**FAILED, finishedAt={"S": LONG_AGO})], ids=bool)
def test_who_could_not_take_the_lock_hands_over_or_tells_the_sender(meets: Meets, item: Any) -> None:
    assert meets("fast", item, known(gaveUp=True)).to == "HandOver"
    told = meets("fast", item, known(gaveUp=True, http={"seconds": 25}))
    assert (told.to, told.assigned["refusedAs"]) == ("RequestRefused", "Unavailable")
    assert meets("fast", item, known(http={"seconds": 25})).to == "AcquireLock"
    mine = record(owner={"S": f"{FAST_ID}:nonce"}, **OPEN)  # it did take it, and heard nothing
    for http in ({}, {"seconds": 25}):
        assert meets("fast", mine, known(gaveUp=True, http=http)).to == "AcknowledgeDuplicate"


def test_who_prefers_not_to_wait_and_what_is_the_full_lanes_is_handed_over(meets: Meets) -> None:
    for item in (None, record(**FAILED, finishedAt={"S": LONG_AGO})):
        assert meets("fast", item, known(**ASYNC)).to == "HandOver"
        assert meets("fast", item, known(http={**ASYNC["http"], "async": False})).to == "AcquireLock"
    assert meets("fast", record(**OPEN), known(**ASYNC)).to == "AcknowledgeDuplicate"


@BOTH
def test_a_large_request_is_kept_once_before_a_lock(meets: Meets, lane: str) -> None:
    for item in (None, record(**FAILED, finishedAt={"S": LONG_AGO})):
        assert meets(lane, item, known(**LARGE)).to == "KeepRequest"
        assert meets(lane, item, known(**LARGE, isKept=True)).to == "AcquireLock"


# ---- an owner whose lease is over ----

LATE = record(leaseExpiresAt={"N": str(NOW - 1)})


@pytest.fixture
def asked(state: States) -> Callable[..., str]:
    """What a request does by the status of the owner, or by the error of who was asked for it."""

    def leads(asks: str, status: str = "", error: str = "", item: dict[str, Any] = LATE, **more: Any) -> str:
        check, knows = state("CheckOwner"), known(asks, record=item, **more)
        way = check.fails(error, knows) if error else check.takes({"Status": status}, knows)
        assert way.to == "IsOwnerAlive"
        return state("IsOwnerAlive").chooses({**knows, **way.assigned}).to

    return leads


Asked = Callable[..., str]
AS_A_DUPLICATE = {"acknowledge": "AcknowledgeDuplicate", "reject": "OperationInProgress", "wait": "WaitForOwner"}


@pytest.mark.parametrize("asks", ASKS)
@pytest.mark.parametrize("status", ["SUCCEEDED", "FAILED", "TIMED_OUT", "ABORTED"])
def test_an_owner_that_ended_in_any_way_is_replaced(asked: Asked, status: str, asks: str) -> None:
    assert asked(asks, status) == "TakeNextFence"


@pytest.mark.parametrize("asks", ASKS)
def test_an_owner_of_which_nothing_is_known_any_more_is_replaced(asked: Asked, asks: str) -> None:
    assert asked(asks, error="Sfn.ExecutionDoesNotExistException") == "TakeNextFence"


@pytest.mark.parametrize("asks", ASKS)
@pytest.mark.parametrize("status", ["RUNNING", "PENDING_REDRIVE", "A_STATUS_TO_COME"])
def test_an_owner_that_may_live_is_met_as_onconflict_says(asked: Asked, status: str, asks: str) -> None:
    assert asked(asks, status) == AS_A_DUPLICATE[asks]


@pytest.mark.parametrize("asks", ASKS)
@pytest.mark.parametrize("error", ["Sfn.ThrottlingException", "States.Timeout", "States.Runtime"])
def test_an_owner_of_unknown_status_is_met_as_if_it_lived(asked: Asked, error: str, asks: str) -> None:
    assert asked(asks, error=error) == AS_A_DUPLICATE[asks]


def test_what_may_not_run_again_after_a_dead_owner_is_for_the_operator(asked: Asked) -> None:
    def of(**more: Any) -> str:
        return asked("wait", "FAILED", item={**LATE, **more})

    assert of(onCrash={"S": "quarantine"}) == "RecordQuarantine"
    assert of(onCrash={"S": "quarantine"}, leaseExpiresAt={"N": "0"}) == "TakeNextFence"
    assert of(attempts={"N": str(MAX_ATTEMPTS - 1)}) == "TakeNextFence"
    assert of(attempts={"N": str(MAX_ATTEMPTS)}) == "RecordQuarantine"


@pytest.mark.parametrize("on_crash", ["retry", "quarantine"])
def test_what_was_pending_is_told_as_that_whatever_happens_then(state: States, on_crash: str) -> None:
    """Not as an owner that ended: it has ended as it should, when the work elsewhere had begun."""
    item = {**LATE, "onCrash": {"S": on_crash}, "pendingSince": {"S": LONG_AGO}}
    told = state("IsOwnerAlive").chooses(known(record=item, ownerStatus="ENDED")).assigned["failure"]
    assert told["name"] == "PendingTimedOut"
    assert told["message"].startswith("it was pending until its lease ended - work elsewhere may still go on")
