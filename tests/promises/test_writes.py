"""Each rule of single changes of a record: a change that breaks it, and beside it the nearest one that may be made."""

from __future__ import annotations

from typing import Any

import pytest
from promises.story import (
    FAST,
    FIRST,
    REQUEST,
    SECOND,
    Happened,
    Rule,
    change,
    done,
    failed,
    full,
    lock,
    quarantined,
    ran,
)

from oncekit.promises.journal import Write

ASKING = {**REQUEST, "onFailed": "retry"}
STEPS = {"reserve": {"meaning": "m", "result": "1"}}


def taken(old: Any = None, new: Any = None, **more: Any) -> Write:
    """The lock of the first owner, taken over by the second."""
    return change(old or lock(), new or lock(SECOND, 2), SECOND, "TakeOverLock", **more)


def by_recovery(new: Any, old: Any = None, state: str = "EndLease", **more: Any) -> Write:
    return change(old or lock(), new, SECOND, state, **more)


def tried_again(
    old: Any = None, *, by: str = SECOND, state: str = "RetryFailed", given: Any = ASKING, **new: Any
) -> list[Happened]:
    opened = lock(**{"owner": by, "fence": 2, "attempts": 1, **new})
    return [change(old or failed(), opened, by, state), ran(by, given=given)]


def by_function(old: Any, new: Any, owner: str = FIRST, fence: int = 1) -> Write:
    return change(old, new, owner, kind="function", fence=fence)


RULES = {
    # P1
    "an id begins with the first fence": Rule(
        "P1 broken: begins with fence 2", change(None, lock(fence=2)), change(None, lock())
    ),
    "a new owner takes the next fence": Rule("P1 broken: fence 1 became 1", taken(new=lock(SECOND)), taken()),
    "a new attempt skips no fence": Rule(
        "P1 broken: fence 1 became 3", change(lock(), lock(fence=3)), change(lock(), lock(fence=2))
    ),
    "who takes its own lock anew takes the next fence": Rule(
        "P1 broken: fence 1 became 1",
        change(done(expiresAt=999), lock(), state="AcquireLock"),
        change(done(expiresAt=999), lock(fence=2), state="AcquireLock"),
    ),
    "a lock is its owner's until its lease is over": Rule(
        "P1 twice: before its lease was over", taken(lock(leaseExpiresAt=1000)), taken(lock(leaseExpiresAt=999))
    ),
    "a live owner keeps its lock": Rule(
        "P1 twice: from an owner that is RUNNING", taken(owner_is="RUNNING"), taken(owner_is="TIMED_OUT")
    ),
    "a live owner in the fast lane keeps its lock": Rule(
        "P1 twice: from an owner that is RUNNING",
        taken(lock(FAST), owner_is="RUNNING"),
        taken(lock(FAST), owner_is="SUCCEEDED"),
    ),
    "an owner in the fast lane gives its lock away only by releasing it": Rule(
        "P1 twice: from an owner that is RUNNING",
        taken(lock(FAST), owner_is="RUNNING"),
        taken(lock(FAST, mayStartAgain=True), owner_is="RUNNING"),
    ),
    # P2
    "a quarantine is left to the operator": Rule(
        "P2 twice: left its quarantine",
        change(quarantined(), lock(fence=2)),
        [change(quarantined(), lock(), kind="operator"), change(quarantined(), quarantined(finishedAt="later"))],
    ),
    "a finished step is not forgotten": Rule(
        "P2 twice: a finished step was forgotten",
        taken(lock(steps=STEPS)),
        taken(lock(steps=STEPS), lock(SECOND, 2, steps=STEPS)),
    ),
    "a finished step is not done again": Rule(
        "P2 twice: a finished step was forgotten",
        by_function(lock(steps=STEPS), lock(steps={"reserve": {"meaning": "m", "result": "2"}})),
        by_function(lock(steps=STEPS), lock(steps={**STEPS, "charge": {"meaning": "m", "result": "2"}})),
    ),
    "a finished step is needed until the operation has ended": Rule(
        "P2 twice: a finished step was forgotten",
        change(lock(steps=STEPS), failed()),
        change(lock(steps=STEPS), done()),
    ),
    "what is counted of late sends is no step": Rule(
        "P2 twice: a finished step was forgotten",
        by_function(lock(steps={"sent": 1}), lock(steps={"sent": 2})),
        by_function(lock(steps={"#closings": 1}), lock(steps={"#closings": 2})),
    ),
    "only the owner says that it may be started again": Rule(
        "P2 twice: says for its owner",
        change(lock(), lock(leaseExpiresAt=0, mayStartAgain=True), SECOND, "ReleaseLock"),
        change(lock(), lock(leaseExpiresAt=0, mayStartAgain=True), FIRST, "ReleaseLock"),
    ),
    "an owner that may be started again has released its lock": Rule(
        "P2 twice: says for its owner",
        change(lock(), lock(mayStartAgain=True), state="BackOff"),
        change(lock(), lock(mayStartAgain=True), state="ReleaseLock"),
    ),
    "a failure is tried again with its own payload": Rule(
        "P2 twice: with another payload", tried_again(fingerprint="g"), tried_again()
    ),
    "a failure is tried again with its steps": Rule(
        "P2 twice: other steps", tried_again(failed(steps=STEPS)), tried_again(failed(steps=STEPS), steps=STEPS)
    ),
    "a failure is tried again from its first attempt": Rule(
        "P2 twice: with another payload, attempt", tried_again(attempts=2), tried_again()
    ),
    "a failure is tried again for who asks": Rule(
        "P2 twice: did not ask", tried_again(given=REQUEST), tried_again(given=[{"body": ASKING}])
    ),
    "recovery tries no failure again": Rule(
        "P2 twice: recovery tried", tried_again(by=full(f"again-{'a' * 40}")), tried_again(by=full("again"))
    ),
    "recovery of an owner tries no failure again": Rule(
        "P2 twice: recovery tried",
        tried_again(by=full(f"recover-{'a' * 32}-{'b' * 8}-2-0")),
        tried_again(by=full("recover-2")),
    ),
    "a failure is tried again in one state": Rule(
        "P3 broken: after it was FAILED", tried_again(state="TakeOverLock"), tried_again(state="RetryFailed")
    ),
    "a failure is tried again by who gets its lock": Rule(
        "P3 broken: after it was FAILED", tried_again(owner=FIRST), tried_again()
    ),
    "an answer is not tried again": Rule("P3 broken: after it was COMPLETED", tried_again(done()), tried_again()),
    # P3
    "an answer is kept until it expires": Rule(
        "P3 broken: ['result'] changed after it was COMPLETED",
        change(done(expiresAt=1000), done(expiresAt=1000, result="2")),
        change(done(expiresAt=999), done(expiresAt=5000, result="2")),
    ),
    "only the owner says until when its answer is kept": Rule(
        "P3 broken: ['expiresAt'] changed",
        change(done(), done(expiresAt=4999), SECOND),
        change(done(), done(expiresAt=4999, finishedAt="sooner"), FIRST),
    ),
    "an operator changes no answer": Rule(
        "P3 broken: changed after it was COMPLETED",
        change(done(), lock(), kind="operator"),
        change(done(), None, kind="operator"),
    ),
    # P4
    "a function writes under its own fence": Rule(
        "P4 broken: a function without the lock",
        by_function(lock(fence=2), lock(fence=2, steps=STEPS), fence=1),
        by_function(lock(fence=2), lock(fence=2, steps=STEPS), fence=2),
    ),
    "a function writes for its own owner": Rule(
        "P4 broken: a function without the lock",
        by_function(lock(SECOND), lock(SECOND, steps=STEPS)),
        by_function(lock(), lock(steps=STEPS)),
    ),
    "a function writes while its lock is held": Rule(
        "P4 broken: a function without the lock",
        by_function(quarantined(), quarantined(steps=STEPS)),
        by_function(lock(), lock(steps=STEPS)),
    ),
    "a function notes nothing but steps": Rule(
        "P4 broken: a function without the lock",
        by_function(lock(), lock(steps=STEPS, leaseExpiresAt=9000)),
        by_function(lock(), lock(steps=STEPS)),
    ),
    "nobody finishes what another owns": Rule(
        "P4 broken: changed ['expiresAt'",
        change(lock(), done(), SECOND),
        change(lock(leaseExpiresAt=2000), done(), owner_is="RUNNING"),
    ),
    "nobody lengthens another's lease": Rule(
        "P4 broken: changed ['leaseExpiresAt']",
        by_recovery(lock(leaseExpiresAt=2000)),
        by_recovery(lock(leaseExpiresAt=0)),
    ),
    "who ends a lease changes nothing else": Rule(
        "P4 broken: changed ['acquiredAt', 'leaseExpiresAt', 'recoveries']",
        by_recovery(lock(leaseExpiresAt=0, recoveries=1, acquiredAt="now")),
        by_recovery(lock(leaseExpiresAt=0, recoveries=1)),
    ),
    "who quarantines for another leaves it its fence": Rule(
        "P4 broken: changed ['attempts', 'error', 'fence'",
        by_recovery(quarantined(fence=2), state="RecordQuarantine"),
        by_recovery(quarantined(), state="RecordQuarantine"),
    ),
    "a claim shortens no lease": Rule(
        "P4 broken: in ClaimRedrive changed",
        by_recovery(lock(leaseExpiresAt=800), state="ClaimRedrive"),
        by_recovery(lock(leaseExpiresAt=901), state="ClaimRedrive"),
    ),
    "who claims a redrive changes nothing else": Rule(
        "P4 broken: in ClaimRedrive changed",
        by_recovery(lock(leaseExpiresAt=2000, acquiredAt="now"), state="ClaimRedrive"),
        by_recovery(lock(leaseExpiresAt=2000), state="ClaimRedrive"),
    ),
    "a live owner's lease is not ended": Rule(
        "P4 broken: though its owner is RUNNING",
        by_recovery(lock(leaseExpiresAt=0), owner_is="RUNNING"),
        by_recovery(lock(leaseExpiresAt=0), lock(leaseExpiresAt=2000), owner_is="DOES_NOT_EXIST"),
    ),
    "an owner in the fast lane is let alone until its lease is over": Rule(
        "P4 broken: though its owner is ABORTED",
        by_recovery(lock(FAST, leaseExpiresAt=0), lock(FAST, leaseExpiresAt=1000)),
        by_recovery(lock(FAST, leaseExpiresAt=0), lock(FAST, leaseExpiresAt=999)),
    ),
    # P5
    "only an operator removes a record": Rule(
        "P5 lost: its record was removed", change(lock(), None), change(lock(), None, kind="operator")
    ),
    # P6
    "a lock is for one payload": Rule(
        "P6 broken: the payload changed",
        change(lock(), lock(fence=2, fingerprint="g")),
        change(done(expiresAt=999), lock(fence=2, fingerprint="g")),
    ),
}


@pytest.mark.parametrize("sentence", RULES)
def test_a_change_that_breaks_it_is_told_and_its_neighbour_is_not(sentence: str) -> None:
    RULES[sentence].check(at_rest=False)
