"""What the writes of the fast lane make of the record: leases, the request that is kept with the lock, the release."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from one_state import FAST_ME, ME, NOW, STOPS_AT, THEIRS
from test_writes import AT, ERROR, LEASE, LEFT, OTHER, STATUSES, VARIABLES, Item, changed, ended, open_record

from oncekit.proof.model.record import Table

IN_THE_RECORD = {"as": "request", "not": "requestRef", "value": {"S": '{"n":1}'}}
IN_THE_BUCKET = {"as": "requestRef", "not": "request", "value": {"M": {"bucket": {"S": "b"}, "key": {"S": "k"}}}}
KEPT: list[tuple[dict[str, Any], Item]] = [
    (IN_THE_RECORD, {"request": {"S": '{"n":1}'}}),
    (IN_THE_BUCKET, {"requestRef": {"M": {"bucket": {"S": "b"}, "key": {"S": "k"}}}}),
]
FAST_LEASE = {"N": str(STOPS_AT + LEASE)}

Write = Callable[..., Item | None]


@pytest.fixture
def write(fast: Callable[..., Any], records: Table) -> Write:
    """The record after the write of a state of the fast lane, None when the write is refused."""

    def written(name: str, there: Item | None, at: int = NOW, kept: Any = IN_THE_RECORD, **more: Any) -> Item | None:
        variables = {**VARIABLES, "request": {**VARIABLES["request"], "kept": kept}, **more}
        made = json.dumps(fast(name, at=at).asks(variables))
        after = records.update(None if there is None else json.dumps(there), made)
        if after is None:
            return None
        item: Item = json.loads(after)
        return item

    return written


@pytest.mark.parametrize(("kept", "written"), KEPT)
def test_a_lock_is_taken_with_the_request_and_a_lease_as_long_as_its_owner_can_live(
    kept: dict[str, Any], written: Item, write: Write
) -> None:
    lock = {
        "id": {"S": "acme#charge#k"},
        "status": {"S": "IN_PROGRESS"},
        "owner": {"S": FAST_ME},
        "fence": {"N": "1"},
        "attempts": {"N": "1"},
        "fingerprint": {"S": "f"},
        "onCrash": {"S": "retry"},
        "acquiredAt": {"S": AT},
        "leaseExpiresAt": FAST_LEASE,
        "openShard": {"S": "IN_PROGRESS#a"},
    }
    assert write("AcquireLock", None, kept=kept) == lock | written
    old = ended("FAILED", request={"S": "old"}, steps={"M": {}}, **LEFT) | {"expiresAt": {"N": str(NOW - 1)}}
    assert write("AcquireLock", old, kept=kept) == lock | written | {"fence": {"N": "4"}}


@pytest.mark.parametrize(("kept", "written"), KEPT)
def test_a_failed_operation_is_tried_again_with_the_request_of_who_asked(
    kept: dict[str, Any], written: Item, write: Write
) -> None:
    failed = ended("FAILED", request={"S": "old"}, **LEFT)
    again = write("RetryFailed", failed, kept=kept)
    assert again is not None
    assert {name: again[name] for name in ("request", "requestRef", "mayStartAgain") if name in again} == written
    assert (again["owner"], again["leaseExpiresAt"]) == ({"S": FAST_ME}, FAST_LEASE)


def test_a_renewed_lease_is_no_longer_than_the_first_and_the_request_stays(write: Write) -> None:
    mine = open_record(owner=FAST_ME, request={"S": '{"n":1}'})
    for at in (NOW, NOW + 100, STOPS_AT):
        renewed = write("RenewLock", mine, at=at)
        assert renewed is not None
        assert (renewed["leaseExpiresAt"], renewed["request"]) == (FAST_LEASE, mine["request"])


@pytest.mark.parametrize("name", ["AcquireLock", "RetryFailed", "RenewLock"])
def test_a_lease_that_is_taken_after_the_end_begins_where_it_is_taken(name: str, write: Write) -> None:
    """AWS ends an execution at some moment after its time."""
    there = {"AcquireLock": None, "RetryFailed": ended("FAILED"), "RenewLock": open_record(owner=FAST_ME)}[name]
    late = write(name, there, at=STOPS_AT + 10)
    assert late is not None
    assert late["leaseExpiresAt"] == {"N": str(STOPS_AT + 10 + LEASE)}


@pytest.mark.parametrize("name", ["Finalize", "RecordFailure", "RecordQuarantine"])
@pytest.mark.parametrize(("_kept", "written"), KEPT)
def test_an_end_leaves_no_request_behind_but_what_the_operator_needs(
    name: str, _kept: dict[str, Any], written: Item, write: Write
) -> None:
    mine = changed(open_record(owner=FAST_ME), gone=("request",)) | written
    about = {"owner": FAST_ME, "fence": "3", "lease": "1"}
    end = write(name, mine, about=about)
    assert end is not None
    left = {each: end[each] for each in ("request", "requestRef") if each in end}
    if name == "RecordQuarantine":
        assert left["requestRef"]["M"]["key"]["S"].startswith("requests/acme/")
        del left["requestRef"]
    assert left == {}


# ---- the lock is released ----


def test_a_released_lock_may_be_taken_at_once_and_its_business_logic_started_again(write: Write) -> None:
    mine = open_record(owner=FAST_ME, request={"S": '{"n":1}'})
    released = changed(mine, leaseExpiresAt={"N": "0"}, mayStartAgain={"BOOL": True}, error=ERROR)
    assert write("ReleaseLock", mine) == released
    assert write("ReleaseLock", released) == released, "the same call, repeated"
    assert write("ReleaseLock", mine, throttled=True) == changed(released, attempts={"N": "1"}), "was not started"


def test_a_lock_is_released_by_its_owner_and_by_nobody_else(write: Write) -> None:
    def locks() -> Iterator[tuple[str, str, int]]:
        for status, owner, fence in itertools.product(STATUSES, (FAST_ME, ME, THEIRS, OTHER), (2, 3, 4)):
            there = open_record(owner=owner, fence=fence, status={"S": status})
            if write("ReleaseLock", there) is not None:
                yield status, owner, fence

    assert set(locks()) == {("IN_PROGRESS", FAST_ME, 3), ("IN_PROGRESS", FAST_ME, 4)}
    assert write("ReleaseLock", None) is None


def test_a_lock_whose_renewal_was_not_heard_of_is_released_and_the_attempt_does_not_count(write: Write) -> None:
    renewed = write("RenewLock", open_record(owner=FAST_ME, request={"S": '{"n":1}'}))
    assert renewed is not None
    released = write("ReleaseLock", renewed)
    assert released is not None
    assert (released["fence"], released["attempts"], released["leaseExpiresAt"]) == ({"N": "4"}, {"N": "2"}, {"N": "0"})


@pytest.mark.parametrize(("name", "fence"), [("RenewLock", 3), ("RenewLock", 4), ("RetryFailed", 4)])
def test_a_late_call_does_not_take_back_a_lock_that_was_released(name: str, fence: int, write: Write) -> None:
    mine = open_record(owner=FAST_ME, fence=fence)
    assert write(name, mine) is not None
    assert write(name, changed(mine, leaseExpiresAt={"N": "0"}, mayStartAgain={"BOOL": True})) is None


def test_writes_of_the_fast_lane_name_the_run_and_not_the_execution(write: Write) -> None:
    theirs = FAST_ME.replace("nonce", "other")
    for name in ("Finalize", "RecordFailure", "RenewLock", "ReleaseLock"):
        assert write(name, open_record(owner=FAST_ME)) is not None
        assert write(name, open_record(owner=theirs)) is None, name


def test_a_lock_that_would_be_taken_over_here_had_a_lease_as_long_as_any(write: Write) -> None:
    """The fast lane takes over nothing; the definition is the same, and would be right there, too."""
    over = {**VARIABLES["record"], "owner": {"S": THEIRS}}
    taken = write("TakeOverLock", open_record(owner=THEIRS), record=over)
    assert taken is not None
    assert taken["leaseExpiresAt"] == FAST_LEASE


# ---- who takes over what the fast lane left ----


def test_the_full_lane_takes_over_with_its_own_lease_and_needs_no_copy_of_the_request(
    state: Callable[..., Any], records: Table
) -> None:
    left = open_record(owner=FAST_ME, request={"S": '{"n":1}'}, **LEFT)
    made = state("TakeOverLock").asks({**VARIABLES, "record": left})
    after = json.loads(records.update(json.dumps(left), json.dumps(made)))
    assert after["request"] == {"NULL": True}
    assert after["leaseExpiresAt"] == {"N": str(NOW + LEASE)}
    assert not {*LEFT} & {*after}
