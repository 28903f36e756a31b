"""Each rule of single records: one that breaks it, and beside it the nearest one that may be."""

from __future__ import annotations

import pytest
from promises.story import (
    FAST,
    LIMIT,
    Happened,
    Item,
    Rule,
    change,
    done,
    error,
    failed,
    fast,
    lock,
    quarantined,
    ref,
    without,
)


def left(record: Item) -> Happened:
    """As if it had been written by an operator, who may write nearly anything."""
    return change(lock(record["owner"], record["fence"]), record, kind="operator")


def rule(told: str, red: Item, green: Item, broken: str = "P5 broken") -> Rule:
    return Rule(f"{broken}: {told}", left(red), left(green))


RULES = {
    "a record has a known status": rule("no known status", lock(status="DONE"), lock()),
    "an open lock has a lease": rule("lacks ['leaseExpiresAt']", without(lock(), "leaseExpiresAt"), lock()),
    "an open record is where recovery looks": rule("lacks ['openShard']", without(lock(), "openShard"), lock()),
    "it is in the shard of its own status": rule(
        "another shard", quarantined(openShard="IN_PROGRESS#2"), quarantined()
    ),
    "it is in the shard of its own id": rule("another shard", lock(openShard="IN_PROGRESS#3"), lock()),
    "a lock never expires": rule("has ['expiresAt']", lock(expiresAt=5000), done(expiresAt=5000)),
    "what is quarantined never expires": rule("has ['expiresAt']", quarantined(expiresAt=5000), quarantined()),
    "an answer expires": rule("lacks ['expiresAt']", without(done(), "expiresAt"), done()),
    "what is finished is out of recovery's sight": rule(
        "has ['leaseExpiresAt', 'openShard']", {**lock(), **done()}, done()
    ),
    "what is finished has no request": rule("has ['requestRef']", failed(requestRef=ref("requests/mine")), failed()),
    "what failed says why": rule("lacks ['error']", without(failed(), "error"), failed()),
    "what is completed has an answer": rule("not exactly one answer", without(done(), "result"), done()),
    "what is completed has one answer": rule(
        "not exactly one answer", done(result="1", resultRef=ref("results/one")), done(resultRef=ref("results/one"))
    ),
    "no fence is used for two attempts": rule("attempts and fence", lock(attempts=2), lock(fence=2, attempts=2)),
    "a lock counts its attempt": rule("attempts and fence", lock(attempts=0), lock(attempts=0, mayStartAgain=True)),
    "a quarantine has its request": rule(
        "quarantined without", without(quarantined(), "requestRef"), quarantined(requestRef=ref("requests/mine"))
    ),
    "a quarantined request is where requests are kept": rule(
        "quarantined without", quarantined(requestRef=ref("results/one")), quarantined()
    ),
    "only recovery quarantines without the request": rule(
        "quarantined without",
        without(quarantined(), "requestRef"),
        without(quarantined(why="RecoveriesUsedUp", request="{}"), "requestRef"),
    ),
    "what cannot be read is quarantined without it": rule(
        "quarantined without",
        without(quarantined(why="Unreadable"), "requestRef"),
        without(quarantined(why="RequestUnreadable"), "requestRef"),
    ),
    "a quarantined request is in one place": rule("quarantined without", quarantined(request="{}"), quarantined()),
    "a lock may say why its last attempt failed": rule("has ['result']", lock(result="1"), lock(error=error("Error"))),
    "a lock that was released may be quarantined": rule(
        "has ['result']", quarantined(result="1"), quarantined(mayStartAgain=True)
    ),
    "a lock in the fast lane has its request": rule(
        "without its request", without(lock(FAST), "request"), lock(FAST, request='{"operation": "o"}')
    ),
    "a lock in the fast lane has one request": rule(
        "without its request",
        lock(FAST, requestRef=ref("requests/mine")),
        without(lock(FAST, requestRef=ref("requests/mine")), "request"),
    ),
    "a run in the fast lane is an owner by itself": rule("two runs", lock(fast("first"), request="{}"), lock(FAST)),
    # What a record refers to.
    "a large answer is there": rule(
        "its result is not", done(resultRef=ref("results/two")), done(resultRef=ref("results/one")), "P3 lost"
    ),
    "a large answer has its bytes": rule(
        "its result is not",
        done(resultRef=ref("results/one", sha256=ref("results/two")["sha256"])),
        done(resultRef=ref("results/one")),
        "P3 lost",
    ),
    "a large answer has its length": rule(
        "its result is not", done(resultRef=ref("results/one", bytes=2)), done(resultRef=ref("results/one")), "P3 lost"
    ),
    "a quarantined request is there": rule(
        "quarantined without", quarantined(requestRef=ref("requests/gone")), quarantined(), "P5 lost"
    ),
    "an answer in the record is small": rule(
        "over the inline limit", done(result="x" * LIMIT), failed(error=error("x" * LIMIT)), "P7 broken"
    ),
    "steps do not count as the answer": rule(
        "over the inline limit", done(result="x" * LIMIT), done(steps={"x" * LIMIT: 1}), "P7 broken"
    ),
}


@pytest.mark.parametrize("sentence", RULES)
def test_a_record_that_breaks_it_is_told_and_its_neighbour_is_not(sentence: str) -> None:
    RULES[sentence].check(at_rest=False)
