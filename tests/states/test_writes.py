"""What each write makes of the record, and for which record it goes through at all."""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from one_state import ME, NOW, THEIRS, State

from oncekit.proof.model.record import Table

OTHER = "arn:other"
STATUSES = ("IN_PROGRESS", "COMPLETED", "FAILED", "QUARANTINED")
LEASE = 30 + 5 + 60
THEN = "2025-12-31T23:00:00.000Z"
AT = "2026-01-01T00:00:00.000Z"
A_MONTH = 30 * 86400
OVER = NOW - 5

Item = dict[str, dict[str, Any]]
Write = Callable[..., Item | None]


IN_ITS_EXECUTION: Item = {"request": {"NULL": True}}
"""Where the request of an owner in the full lane is."""
MARKED: Item = {"mayStartAgain": {"BOOL": True}}
LEFT: Item = {"requestRef": {"M": {"key": {"S": "inflight/..."}}}, **MARKED}
"""What an owner in the fast lane has left, beside a request in the record."""


def open_record(owner: str = THEIRS, fence: int = 3, **more: Any) -> Item:
    return {
        "id": {"S": "acme#charge#k"},
        "status": {"S": "IN_PROGRESS"},
        "owner": {"S": owner},
        "fence": {"N": str(fence)},
        "attempts": {"N": "2"},
        "fingerprint": {"S": "f"},
        "onCrash": {"S": "quarantine"},
        "acquiredAt": {"S": THEN},
        "leaseExpiresAt": {"N": str(OVER)},
        "openShard": {"S": "IN_PROGRESS#a"},
        "recoveries": {"N": "1"},
        "steps": {"M": {"pay": {"S": "1"}}},
        "error": {"M": {"name": {"S": "Last"}, "message": {"S": "of the last attempt"}}},
        **IN_ITS_EXECUTION,
        **more,
    }


def ended(status: str, **more: Any) -> Item:
    times = {"finishedAt": {"S": THEN}, "expiresAt": {"N": str(NOW + 100)}}
    item = open_record(status={"S": status}, **times)
    return changed(item, gone=("leaseExpiresAt", "openShard", "steps", "request")) | more


REQUEST = {"id": "acme#charge#k", "idHash": "a" * 64, "shard": "a", "tenant": "acme", "fingerprint": "f"}
KEPT = {"as": "request", "not": "requestRef", "value": {"NULL": True}}
VARIABLES: dict[str, Any] = {
    "request": {**REQUEST, "onCrash": "retry", "kept": KEPT},
    "lock": {"fence": 3, "attempts": 2, "onCrash": "quarantine", "leaseExpiresAt": OVER},
    "record": open_record(),
    "answer": {"text": '{"n":1.10}', "inline": True},
    "failure": {"name": "E", "message": "m"},
    "about": {"owner": THEIRS, "fence": "3", "lease": str(OVER)},
    "throttled": False,
    "history": {"neverStarted": False},
    "refusal": {"error": "InvalidRequest", "message": "no function"},
}
RECOVERY = {
    "id": "acme#charge#k",
    "recoveries": 2,
    "record": {"status": "IN_PROGRESS", "owner": THEIRS, "fence": "3", "recoveries": 1, "lease": OVER},
    "failure": {"name": "E", "message": "m"},
}
OF_RECOVERY = ("EndLease", "QuarantineRecord")


@pytest.fixture
def write(state: Callable[..., State], records: Table) -> Write:
    """The record after the write of a state, None when the write is refused."""

    @functools.cache
    def call(name: str, more: str) -> str:
        variables = (RECOVERY if name in OF_RECOVERY else VARIABLES) | json.loads(more)
        made = state(name).asks(variables)
        assert made["Key"] == {"id": {"S": "acme#charge#k"}}
        return json.dumps(made)

    def written(name: str, there: Item | None, **more: Any) -> Item | None:
        made = call(name, json.dumps(more))
        after = records.update(None if there is None else json.dumps(there), made)
        if after is None:
            return None
        item: Item = json.loads(after)
        return item

    return written


ERROR = {"M": {"name": {"S": "E"}, "message": {"S": "m"}}}
NEW_LEASE = {"N": str(NOW + LEASE)}
CLAIM = {"N": str(NOW + 120)}
EXPIRES = {"N": str(NOW + A_MONTH)}


def changed(item: Item, gone: tuple[str, ...] = (), **new: Any) -> Item:
    return {name: value for name, value in {**item, **new}.items() if name not in gone}


def test_a_lock_of_nobody_is_taken(write: Write) -> None:
    assert write("AcquireLock", None) == {
        "id": {"S": "acme#charge#k"},
        "status": {"S": "IN_PROGRESS"},
        "owner": {"S": ME},
        "fence": {"N": "1"},
        "attempts": {"N": "1"},
        "fingerprint": {"S": "f"},
        "onCrash": {"S": "retry"},
        "acquiredAt": {"S": AT},
        "leaseExpiresAt": NEW_LEASE,
        "openShard": {"S": "IN_PROGRESS#a"},
        **IN_ITS_EXECUTION,
    }


@pytest.mark.parametrize("status", ["COMPLETED", "FAILED"])
def test_a_lock_of_an_expired_record_is_taken_under_the_next_fence_and_nothing_else_is_left(
    status: str, write: Write
) -> None:
    left = {"result": {"S": "1"}, "resultRef": {"M": {}}, "steps": {"M": {}}, **LEFT}
    old = ended(status, **left) | {"expiresAt": {"N": str(NOW - 1)}}
    new = write("AcquireLock", old)
    first = write("AcquireLock", None)
    assert first is not None
    assert new == changed(first, fence={"N": "4"})


@pytest.mark.parametrize(("expires", "goes"), [(NOW - 1, True), (NOW, False), (NOW + 1, False), (None, False)])
def test_a_record_that_has_not_expired_keeps_its_lock(expires: int | None, goes: bool, write: Write) -> None:
    for there in (ended("COMPLETED"), ended("FAILED"), open_record(), open_record(owner=ME)):
        item = changed(there, gone=("expiresAt",))
        if expires is not None:
            item["expiresAt"] = {"N": str(expires)}
        assert (write("AcquireLock", item) is not None) is goes


def test_a_dead_owners_lock_is_taken_over_with_its_steps_and_its_count(write: Write) -> None:
    assert write("TakeOverLock", open_record(request={"S": "{}"}, **LEFT)) == changed(
        open_record(),
        owner={"S": ME},
        fence={"N": "4"},
        attempts={"N": "3"},
        acquiredAt={"S": AT},
        leaseExpiresAt=NEW_LEASE,
    )
    unused = write("TakeOverLock", open_record(), history={"neverStarted": True})
    assert unused is not None
    assert unused["attempts"] == {"N": "2"}, "business logic was not started"


def test_a_lock_is_renewed_with_the_error_of_the_last_attempt(write: Write) -> None:
    mine = open_record(owner=ME, request={"S": "{}"})
    renewed = changed(
        mine, fence={"N": "4"}, attempts={"N": "3"}, acquiredAt={"S": AT}, leaseExpiresAt=NEW_LEASE, error=ERROR
    )
    assert write("RenewLock", mine) == renewed
    assert write("RenewLock", mine, throttled=True) == changed(renewed, attempts={"N": "2"})


def test_a_record_that_lost_its_place_in_the_index_gets_it_back_with_a_lease(write: Write) -> None:
    for name, owner in (("TakeOverLock", THEIRS), ("RenewLock", ME)):
        new = write(name, changed(open_record(owner=owner), gone=("openShard",)))
        assert new is not None
        assert new["openShard"] == {"S": "IN_PROGRESS#a"}, name


def test_a_result_is_kept_until_retention_ends_and_what_only_an_open_record_needs_goes(write: Write) -> None:
    gone = ("leaseExpiresAt", "openShard", "error", "steps", "request")
    kept = changed(open_record(owner=ME), gone, status={"S": "COMPLETED"}, finishedAt={"S": AT}, expiresAt=EXPIRES)
    assert write("Finalize", open_record(owner=ME, **LEFT)) == {**kept, "result": {"S": '{"n":1.10}'}}
    ref = {"bucket": "b", "key": "k", "sha256": "s", "bytes": 70000}
    expected = {"M": {"bucket": {"S": "b"}, "key": {"S": "k"}, "sha256": {"S": "s"}, "bytes": {"N": "70000"}}}
    assert write("Finalize", open_record(owner=ME), answer={"resultRef": ref}) == {**kept, "resultRef": expected}


def test_a_failure_is_kept_until_retention_ends_and_finished_steps_stay(write: Write) -> None:
    assert write("RecordFailure", open_record(owner=ME, **LEFT)) == changed(
        open_record(owner=ME),
        ("leaseExpiresAt", "openShard", "request"),
        status={"S": "FAILED"},
        error=ERROR,
        finishedAt={"S": AT},
        expiresAt=EXPIRES,
    )


def test_a_lock_that_is_given_back_is_over_on_every_clock_and_its_fence_is_kept(write: Write) -> None:
    taken = write("AcquireLock", None)
    assert taken is not None
    given_back = write("UndoLock", taken | open_record(owner=ME, **LEFT))
    assert given_back == changed(
        open_record(owner=ME),
        ("leaseExpiresAt", "openShard", "request"),
        status={"S": "FAILED"},
        error={"M": {"name": {"S": "NoFunction"}, "message": {"S": "no function"}}},
        finishedAt={"S": AT},
        expiresAt={"N": str(NOW - 3600)},
    )
    again = write("AcquireLock", given_back)
    assert again is not None
    assert (again["fence"], again["status"]) == ({"N": "4"}, {"S": "IN_PROGRESS"})


@pytest.mark.parametrize("there", [None, ended("COMPLETED", expiresAt={"N": str(NOW - 1)}), open_record()])
def test_an_operation_without_a_function_gets_no_lock(there: Item | None, write: Write) -> None:
    request = {**VARIABLES["request"], "function": ""}
    assert write("AcquireLock", there, request=request) is None


def test_a_failed_operation_that_is_tried_again_begins_anew_but_keeps_its_finished_steps(write: Write) -> None:
    steps = {"M": {"pay": {"S": "1"}}}
    failed = ended("FAILED", steps=steps, **LEFT)
    assert failed["steps"] == steps
    assert write("RetryFailed", failed) == changed(
        failed,
        ("error", *LEFT, "recoveries", "finishedAt", "expiresAt"),
        **IN_ITS_EXECUTION,
        status={"S": "IN_PROGRESS"},
        owner={"S": ME},
        fence={"N": "4"},
        attempts={"N": "1"},
        onCrash={"S": "retry"},
        acquiredAt={"S": AT},
        leaseExpiresAt=NEW_LEASE,
        openShard={"S": "IN_PROGRESS#a"},
    )


def test_an_owner_that_is_to_be_redriven_gets_a_new_lease_and_nothing_else(write: Write) -> None:
    assert write("ClaimRedrive", open_record()) == changed(open_record(), leaseExpiresAt=CLAIM)


def test_a_claim_lasts_two_minutes_or_as_long_as_a_lease(state: Callable[..., State]) -> None:
    claim = state("ClaimRedrive").raw["Arguments"]["ExpressionAttributeValues"][":lease"]
    for timeout, seconds in ((30, 120), (54, 120), (56, 121), (840, 905)):
        raw = {"N": claim["N"].replace("'30'", f"'{timeout}'")}
        assert State("ClaimRedrive", {"N": raw}).value("N", {}) == {"N": str(NOW + seconds)}


def test_a_quarantined_record_says_why_and_where_its_request_is_and_never_expires(
    write: Write, definitions: dict[str, dict[str, Any]]
) -> None:
    bucket = definitions["operation"]["States"]["KeepRequest"]["Arguments"]["Bucket"]
    key = f"requests/acme/{'a' * 64}/3.json"
    assert write("RecordQuarantine", open_record(**LEFT)) == changed(
        open_record(**MARKED),
        ("request",),
        status={"S": "QUARANTINED"},
        error=ERROR,
        requestRef={"M": {"bucket": {"S": bucket}, "key": {"S": key}}},
        finishedAt={"S": AT},
        leaseExpiresAt={"N": str(NOW)},
        openShard={"S": "QUARANTINED#a"},
    )


def test_the_request_is_kept_where_the_quarantined_record_says(
    state: Callable[..., State], definitions: dict[str, dict[str, Any]]
) -> None:
    written = {"operation": "charge", "payload": {"n": 1}}
    call = state("KeepRequest").asks(VARIABLES, written)
    reference = state("RecordQuarantine").asks(VARIABLES)["ExpressionAttributeValues"][":requestRef"]["M"]
    assert {"bucket": {"S": call["Bucket"]}, "key": {"S": call["Key"]}} == reference
    assert (call["Body"], call["ContentType"]) == (written, "application/json")


def test_recovery_ends_a_lease_and_counts_it(write: Write) -> None:
    before, after = open_record(), changed(open_record(), leaseExpiresAt={"N": "0"}, recoveries={"N": "2"})
    assert write("EndLease", before) == after
    assert write("EndLease", after) == after, "the same call, repeated"
    assert write("EndLease", changed(after, leaseExpiresAt={"N": str(OVER)})) is None, "counted, and claimed since"
    assert write("EndLease", changed(after, recoveries={"N": "1"})) is None, "ended, and not counted"
    never = {"record": {**RECOVERY["record"], "recoveries": 0}, "recoveries": 1}  # type: ignore[dict-item]
    first = write("EndLease", changed(before, gone=("recoveries",)), **never)
    assert first == changed(after, recoveries={"N": "1"})
    for other in ("0", "3"):
        assert write("EndLease", changed(before, recoveries={"N": other})) is None


def test_a_record_that_recovery_quarantines_says_why_and_its_request_stays_with_its_owner(write: Write) -> None:
    shard = f"QUARANTINED#{hashlib.sha256(b'acme#charge#k').hexdigest()[0]}"
    assert write("QuarantineRecord", open_record()) == changed(
        open_record(),
        status={"S": "QUARANTINED"},
        error=ERROR,
        finishedAt={"S": AT},
        leaseExpiresAt={"N": str(NOW)},
        openShard={"S": shard},
    )


# A state, and every lock under which its write goes through: status, owner, fence. The lease is the one that was read.
GOES_THROUGH = {
    "TakeOverLock": {("IN_PROGRESS", THEIRS, 3), ("IN_PROGRESS", ME, 4)},
    "RenewLock": {("IN_PROGRESS", ME, 3), ("IN_PROGRESS", ME, 4)},
    "Finalize": {("IN_PROGRESS", ME, 3), ("COMPLETED", ME, 3)},
    "RecordFailure": {("IN_PROGRESS", ME, 3), ("FAILED", ME, 3)},
    "UndoLock": {("IN_PROGRESS", ME, 3), ("FAILED", ME, 3)},
    "RecordQuarantine": {("IN_PROGRESS", THEIRS, 3)},
    "ClaimRedrive": {("IN_PROGRESS", THEIRS, 3)},
    "RetryFailed": {("FAILED", THEIRS, 3), ("IN_PROGRESS", ME, 4)},
    "EndLease": {("IN_PROGRESS", THEIRS, 3)},
    "QuarantineRecord": {("IN_PROGRESS", THEIRS, 3)},
}


@pytest.mark.parametrize("name", GOES_THROUGH)
def test_a_write_goes_through_for_the_lock_that_it_names_and_for_no_other(name: str, write: Write) -> None:
    def locks() -> Iterator[tuple[str, str, int]]:
        for status, owner, fence in itertools.product(STATUSES, (ME, THEIRS, OTHER), (2, 3, 4)):
            there = open_record(owner=owner, fence=fence, status={"S": status})
            if write(name, there) is not None:
                yield status, owner, fence

    assert set(locks()) == GOES_THROUGH[name]


@pytest.mark.parametrize("name", GOES_THROUGH)
def test_no_write_but_the_first_makes_a_record(name: str, write: Write) -> None:
    assert write(name, None) is None


# A state, and whose lock it may write under another lease than the one that was read.
ANOTHER_LEASE = {
    "TakeOverLock": {(ME, 4)},
    "RecordQuarantine": set(),
    "ClaimRedrive": set(),
    "EndLease": set(),
    "QuarantineRecord": set(),
}


@pytest.mark.parametrize("name", ANOTHER_LEASE)
@pytest.mark.parametrize("lease", [OVER - 1, OVER + 1, NOW + LEASE, 0])
def test_an_owner_that_was_revived_since_keeps_its_lock(name: str, lease: int, write: Write) -> None:
    there = {
        (owner, fence): open_record(owner=owner, fence=fence, leaseExpiresAt={"N": str(lease)})
        for owner, fence in itertools.product((ME, THEIRS, OTHER), (2, 3, 4))
    }
    assert {lock for lock, item in there.items() if write(name, item) is not None} == ANOTHER_LEASE[name]


def test_an_owner_quarantines_its_own_record_whatever_its_lease(write: Write) -> None:
    about = {"owner": ME, "fence": "3", "lease": "1"}
    assert write("RecordQuarantine", open_record(owner=ME), about=about) is not None
    assert write("RecordQuarantine", open_record(owner=ME, fence=4), about=about) is None


@pytest.mark.parametrize("name", ["AcquireLock", "RetryFailed", "ClaimRedrive", "TakeOverLock", "RenewLock"])
def test_a_new_lease_is_known_to_who_took_it(name: str, state: Callable[..., State]) -> None:
    assert state(name).asks(VARIABLES)["ReturnValues"] == "ALL_NEW"


def test_every_write_is_made_in_the_table_of_records(
    state: Callable[..., State], definitions: dict[str, dict[str, Any]]
) -> None:
    name = definitions["operation"]["States"]["AcquireLock"]["Arguments"]["TableName"]
    for each in (*GOES_THROUGH, "AcquireLock", "ReleaseLock", "ReadRecord", "ReadItsRecord", "ReadOpenRecord"):
        assert state(each).raw["Arguments"]["TableName"] == name
