"""Each rule of single records: one that breaks it; and the records that may be, which are the nearest to those."""

from __future__ import annotations

import pytest
from promises.story import (
    DIRECT,
    FAST,
    TICKET,
    Happened,
    Item,
    Rule,
    change,
    done,
    error,
    failed,
    fast,
    judged,
    large,
    lock,
    quarantined,
    ref,
    without,
)

from oncekit.contract.quotas import MOST_INLINE_BYTES

ONE = ref("results/one")


def left(record: Item) -> Happened:
    """As if it had been written by an operator, who may write nearly anything."""
    kept = {name: record[name] for name in ("request", "requestRef") if name in record}
    return change({**without(lock(record["owner"], record["fence"]), "request"), **kept}, record, kind="operator")


def answer_of(size: int) -> Item:
    """A record with an answer that has so many bytes, steps not counted."""
    least = sum(len(str(value)) for value in done(result="").values())
    return done(result="x" * (size - least), steps={"reserve": 1})


MAY_BE = {
    "a lock": lock(),
    "a lock that was released before any attempt": lock(attempts=0, leaseExpiresAt=0),
    "a lock whose last attempt failed": lock(error=error("Error")),
    "a lock in the fast lane": lock(FAST),
    "a lock in the direct lane": lock(DIRECT),
    "an answer": done(),
    "a large answer": done(resultRef=ONE),
    "an answer that just fits into the record": answer_of(MOST_INLINE_BYTES),
    "an answer after large steps": done(steps={"x" * MOST_INLINE_BYTES: 1}),
    "a failure": failed(),
    "a lock that a person had started again": lock(decisions=[{"verb": "retry", "at": "then", "who": "jane"}]),
    "a failure after large steps": failed(steps={"x" * MOST_INLINE_BYTES: 1}),
    "what an operator released before any attempt": failed("operator-1", attempts=0),
    "a quarantine": quarantined(),
    "a lock of what goes on elsewhere": lock(pendingSince="then"),
    "a quarantine of what went on elsewhere": quarantined(pendingSince="then"),
    "what a ticket ended before any attempt of this retry": done(TICKET, 2, attempts=0),
}

BROKEN = {
    "a record has a known status": ("P5 broken: no known status", lock(status="DONE")),
    "a lock has a lease": ("P5 broken: lacks ['leaseExpiresAt']", without(lock(), "leaseExpiresAt")),
    "an open record is where recovery looks": ("P5 broken: lacks ['openShard']", without(lock(), "openShard")),
    "it is in the shard of its own status": ("P5 broken: another shard", quarantined(openShard="IN_PROGRESS#2")),
    "it is in the shard of its own id": ("P5 broken: another shard", lock(openShard="IN_PROGRESS#3")),
    "a lock never expires": ("P5 broken: has ['expiresAt']", lock(expiresAt=5000)),
    "an answer expires": ("P5 broken: lacks ['expiresAt']", without(done(), "expiresAt")),
    "what is finished is out of recovery's sight": ("P5 broken: has ['leaseExpiresAt', 'op", {**lock(), **done()}),
    "what failed says why": ("P5 broken: lacks ['error']", without(failed(), "error")),
    "a lock has no answer": ("P5 broken: has ['result']", lock(result="1")),
    "what is completed has one answer": ("P5 broken: not exactly one answer", done(result="1", resultRef=ONE)),
    "no fence is used for two attempts": ("P5 broken: attempts and fence do not fit", lock(attempts=2)),
    "a lock counts its attempt": ("P5 broken: attempts and fence do not fit", lock(attempts=0)),
    "a lock has its request": ("P5 broken: not exactly one request", without(lock(), "request")),
    "a lock has one request": ("P5 broken: not exactly one request", {**large(lock()), **lock()}),
    "a request is where requests are kept": ("P5 broken: a request where none is", large(lock(), "results/one")),
    "a run in the fast lane is an owner by itself": ("P5 broken: two runs", lock(fast("first"))),
    "a call in the direct lane is an owner by itself": ("P5 broken: two calls", lock("direct:pay:request")),
    "a ticket owns what has ended": ("P5 broken: a ticket that works", lock(TICKET)),
    "what is completed waits for nothing": ("P5 broken: has ['pendingSince']", done(pendingSince="then")),
    "what failed waits for nothing": ("P5 broken: has ['pendingSince']", failed(pendingSince="then")),
    "a large answer is there": ("P3 lost: its result is not", done(resultRef=ref("results/two"))),
    "a large answer has its bytes": ("P3 lost: its result is not", done(resultRef={**ONE, "sha256": "0"})),
    "a large answer has its length": ("P3 lost: its result is not", done(resultRef={**ONE, "bytes": 2})),
    "an answer in the record is small": ("P7 broken: over the inline limit", answer_of(MOST_INLINE_BYTES + 1)),
    "a failure is small": ("P7 broken: over the inline limit", failed(error=error("x" * MOST_INLINE_BYTES))),
    "a quarantine is small in bytes": ("P7 broken: over the inline limit", quarantined(why="日" * 1300)),
}


@pytest.mark.parametrize("sentence", BROKEN)
def test_a_record_that_breaks_a_rule_is_told(sentence: str) -> None:
    told, record = BROKEN[sentence]
    Rule(told, left(record), left(lock())).check(at_rest=False)


@pytest.mark.parametrize("sentence", MAY_BE)
def test_a_record_that_may_be_is_no_fault(sentence: str) -> None:
    assert judged(left(MAY_BE[sentence]), at_rest=False) == []
