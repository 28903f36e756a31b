"""Whose record each write changes: the one that it is about, and none that differs from it in anything.

The conditions are evaluated as the local cloud's table does it. Under each other record a write that came late, or was
made by an owner that was replaced, would change what is another's.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from one_state import FAST_ID, ME, NOW, State
from scenarios.options import states_run_on_aws

from oncekit.proof.model.record import Table, as_json, table

States = Callable[..., State]
Item = dict[str, Any]

THEIRS, SOMEBODY = ME.replace(":me", ":owner"), ME.replace(":me", ":somebody")
ID = "acme#charge#k"
LEASE, FENCE = NOW + 95, 3
KNOWN = {
    "request": {"id": ID, "idHash": "a" * 64, "operation": "charge", "tenant": "acme", "onCrash": "retry"},
    "fingerprint": "f" * 64,
    "kept": {"text": "{}", "isLarge": False},
    "isKept": False,
    "isRecovery": False,
    "found": "NOTHING",
    "answer": {"text": "1"},
    "failure": {"name": "PermanentError", "message": "no", "status": 0},
    "next": {"attempts": 2, "waitSeconds": 0},
    "lock": {"owner": ME, "fence": FENCE, "leaseExpiresAt": LEASE, "attempts": 1, "onCrash": "retry"},
}


@pytest.fixture(scope="module")
def there(pytestconfig: pytest.Config) -> Iterator[Table]:
    if states_run_on_aws(pytestconfig):
        pytest.skip("the table is moto's, which answers every call to AWS as long as it is there")
    with table("writes") as opened:
        yield opened


@pytest.fixture
def writes(there: Table) -> Callable[..., bool]:
    """Whether a state's write changes this record, made by an execution that knows this besides."""

    def does(state: State, item: Item | None, **more: Any) -> bool:
        return there.update(item and as_json(item), as_json(state.calls({**KNOWN, **more}))) is not None

    return does


Writes = Callable[..., bool]


def record(owner: str = ME, **more: Any) -> Item:
    """An open record as its owner left it."""
    return {
        "id": {"S": ID},
        "status": {"S": "IN_PROGRESS"},
        "owner": {"S": owner},
        "fence": {"N": str(FENCE)},
        "leaseExpiresAt": {"N": str(LEASE)},
        **more,
    }


def ended(status: str, owner: str = ME, expires: int = NOW + 9, **more: Any) -> Item:
    item = record(owner, status={"S": status}, expiresAt={"N": str(expires)}, **more)
    return {name: value for name, value in item.items() if name != "leaseExpiresAt"}


def of(owner: str) -> Item:
    """The lock as it was read, or written."""
    return {"lock": {**KNOWN["lock"], "owner": owner}}


def others(item: Item) -> Iterator[Item | None]:
    """Records that differ from this one in one thing that says whose lock it is, or whether it is one."""
    yield None
    yield item | {"owner": {"S": SOMEBODY}}
    yield from (item | {"fence": {"N": str(fence)}} for fence in (FENCE - 1, FENCE + 2))
    yield from (item | {"status": {"S": status}} for status in ("COMPLETED", "FAILED", "QUARANTINED", "IN_PROGRESS"))


def changed(item: Item) -> list[Item | None]:
    return [each for each in others(item) if each != item]


@pytest.mark.parametrize(("name", "end"), [("Finalize", "COMPLETED"), ("RecordFailure", "FAILED")])
def test_an_end_is_written_by_the_owner_and_again_if_its_answer_was_lost(
    state: States, writes: Writes, name: str, end: str
) -> None:
    allowed = (record(), record(leaseExpiresAt={"N": "0"}), record(status={"S": end}))
    assert all(writes(state(name), each) for each in allowed)
    assert not [
        each
        for each in [*changed(record()), *changed(record(status={"S": end}))]
        if each not in allowed and writes(state(name), each)
    ]
    assert not writes(state(name), record(fence={"N": str(FENCE + 1)}))


def test_a_quarantine_is_of_the_lock_that_was_read(state: States, writes: Writes) -> None:
    for owner in (ME, THEIRS):
        item, read = record(owner), of(owner)
        assert writes(state("RecordQuarantine"), item, **read)
        assert not [each for each in changed(item) if writes(state("RecordQuarantine"), each, **read)]
        assert not writes(state("RecordQuarantine"), item | {"fence": {"N": str(FENCE + 1)}}, **read)
        later = record(owner, leaseExpiresAt={"N": str(LEASE + 1)})
        assert writes(state("RecordQuarantine"), later, **read) is (owner == ME)


def test_the_next_fence_is_taken_of_the_lock_that_was_read(state: States, writes: Writes) -> None:
    theirs, read = record(THEIRS), of(THEIRS)
    assert writes(state("TakeNextFence"), theirs, **read)
    assert not [each for each in changed(theirs) if writes(state("TakeNextFence"), each, **read)]
    for less in (record(THEIRS, leaseExpiresAt={"N": str(LEASE + 1)}), record(THEIRS, fence={"N": str(FENCE + 1)})):
        assert not writes(state("TakeNextFence"), less, **read)


def test_ones_own_next_fence_is_taken_once_more_if_its_answer_was_lost(state: States, writes: Writes) -> None:
    """Not while work goes on elsewhere."""
    for fence in (FENCE, FENCE + 1):
        mine = record(fence={"N": str(fence)}, leaseExpiresAt={"N": str(LEASE + 9)})
        assert writes(state("TakeNextFence"), mine, **of(ME))
        assert not writes(state("TakeNextFence"), mine | {"pendingSince": {"S": "x"}}, **of(ME))
    assert not [each for each in changed(record()) if writes(state("TakeNextFence"), each, **of(ME))]


def test_a_lock_is_given_back_by_its_owner(fast: States, writes: Writes) -> None:
    mine = record(f"{FAST_ID}:nonce")
    assert writes(fast("ReleaseLock"), mine)
    assert not writes(fast("ReleaseLock"), mine | {"fence": {"N": str(FENCE + 1)}})
    assert not [each for each in changed(mine) if writes(fast("ReleaseLock"), each)]


# ---- what is left of a record ----

LOCK = {"id", "status", "owner", "fence", "attempts", "fingerprint", "onCrash", "acquiredAt"}
OPEN = LOCK | {"leaseExpiresAt", "openShard", "request"}
STALE = {
    **{name: {"S": "x"} for name in (*OPEN, "result", "finishedAt")},
    **{name: {"M": {}} for name in ("requestRef", "resultRef", "error", "steps")},
    **record(attempts={"N": "1"}),
}
"""All that a record may ever have, but an end of its time."""


@pytest.mark.parametrize(
    ("name", "status", "more", "left"),
    [
        ("AcquireLock", "COMPLETED", {"expiresAt": {"N": str(NOW - 1)}}, OPEN),
        ("AcquireLock", "FAILED", {"expiresAt": {"N": str(NOW)}}, OPEN | {"steps"}),
        ("Finalize", "IN_PROGRESS", {}, LOCK | {"result", "resultRef", "finishedAt", "expiresAt"}),
        (
            "RecordFailure",
            "IN_PROGRESS",
            {},
            LOCK | {"result", "resultRef", "finishedAt", "expiresAt", "error", "steps"},
        ),
        ("RecordQuarantine", "IN_PROGRESS", {}, set(STALE)),
        ("TakeNextFence", "IN_PROGRESS", {"owner": {"S": THEIRS}}, set(STALE)),
    ],
)
def test_a_write_leaves_nothing_of_what_was_before_but_what_is_still_of_use(
    state: States, there: Table, name: str, status: str, more: Item, left: set[str]
) -> None:
    """Steps of a failure are, for when it is tried again; an open record never expires."""
    before = {**STALE, **more, "status": {"S": status}}
    known = {
        **KNOWN,
        **of(before["owner"]["S"]),
        "found": "FAILED_BEFORE" if status == "FAILED" else "NOTHING",
        "record": before,
    }
    after = there.update(as_json(before), as_json(state(name).calls(known)))
    assert after and set(json.loads(after)) == left


BOTH = pytest.mark.parametrize("lane", ["full", "fast"])


@pytest.fixture
def acquire(state: States, fast: States, lane: str) -> State:
    return fast("AcquireLock") if lane == "fast" else state("AcquireLock")


@BOTH
@pytest.mark.parametrize("status", ["COMPLETED", "FAILED"])
def test_a_new_lock_is_taken_where_no_record_is_or_an_expired_one(acquire: State, writes: Writes, status: str) -> None:
    assert writes(acquire, None) and writes(acquire, ended(status, expires=NOW - 1))
    assert not writes(acquire, ended(status, expires=NOW))
    assert not writes(acquire, record()) and not writes(acquire, record(status={"S": "QUARANTINED"}))


@BOTH
def test_a_failure_is_tried_again_as_it_was_read_until_it_expires(acquire: State, writes: Writes) -> None:
    failed = ended("FAILED", THEIRS, NOW)
    read: dict[str, Any] = {"found": "FAILED_BEFORE", "record": failed}
    assert writes(acquire, failed, **read)
    assert not [each for each in changed(failed) if writes(acquire, each, **read)]
    assert not writes(acquire, ended("FAILED", THEIRS, NOW - 1), **read)


@pytest.mark.parametrize("item", [None, ended("COMPLETED", expires=NOW - 1), ended("FAILED", THEIRS)], ids=str)
def test_no_free_lock_is_taken_by_a_recovery_or_before_a_large_request_is_kept(
    state: States, writes: Writes, item: Item | None
) -> None:
    for found in ("NOTHING", "FAILED_BEFORE"):
        known = {"found": found, "record": ended("FAILED", THEIRS)}
        assert not writes(state("AcquireLock"), item, isRecovery=True, **known)
        large = {"isLarge": True, "text": "{}"}
        assert not writes(state("AcquireLock"), item, kept=large, **known)
        if item is None or found == "FAILED_BEFORE":
            kept = writes(state("AcquireLock"), item, kept=large, isKept=True, **known)
            assert kept is (writes(state("AcquireLock"), item, **known))
