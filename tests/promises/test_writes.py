"""Each rule of single changes of a record: a change that breaks it, and beside it the nearest one that may be made."""

from __future__ import annotations

import json
from typing import Any

import pytest
from promises.story import (
    BEFORE,
    DIRECT,
    FAST,
    FIRST,
    LATER,
    NEXT_CALL,
    REQUEST,
    RUN_AGAIN,
    SECOND,
    SENT,
    TICKET,
    Happened,
    Rule,
    by_direct,
    by_nobody,
    by_operator,
    by_ticket,
    change,
    done,
    error,
    failed,
    forgotten,
    full,
    lock,
    quarantined,
    ran,
    ref,
    without,
)

from oncekit.promises.journal import Write

ASKING = {**REQUEST, "onFailed": "retry"}
RECOVERS = f"recover-{'a' * 32}-2-5890752"
STEPS = {"reserve": {"meaning": "m", "result": "1"}}
DECIDED = [{"verb": "release", "at": BEFORE, "who": "jane"}]


def taken(old: Any = None, new: Any = None, **more: Any) -> Write:
    """The lock of the first owner, taken over by the second."""
    return change(old or lock(), new or lock(SECOND, 2), SECOND, "TakeNextFence", **more)


def given_up(new: Any, old: Any = None, by: str = SECOND, **more: Any) -> Write:
    """The lock of the first owner, quarantined by another execution."""
    return change(old or lock(), new, by, "RecordQuarantine", **more)


def released(by: str = FIRST, state: str = "ReleaseLock") -> Write:
    return change(lock(), lock(leaseExpiresAt=0), by, state)


def tried_again(
    old: Any = None, *, by: str = SECOND, state: str = "AcquireLock", given: Any = ASKING, at: str = SENT, **new: Any
) -> list[Happened]:
    opened = lock(**{"owner": by, "fence": 2, "attempts": 1, **new})
    return [change(old or failed(), opened, by, state), ran(by, given=given, at=at)]


def opened_by(name: str, old: Any = None) -> list[Happened]:
    """A free lock, taken by an execution of that name."""
    by = full(name)
    return [change(old, lock(by, old["fence"] + 1 if old else 1, attempts=1), by, "AcquireLock"), ran(by)]


def opened_for(tenant: str) -> list[Happened]:
    """A lock whose request names this tenant, for an execution whose request names none."""
    kept = json.dumps({**REQUEST, "tenant": tenant})
    return [change(None, lock(request=kept)), ran(given=without(REQUEST, "tenant"))]


def kept_open(by: str = FIRST, state: str = "KeepOpen") -> Write:
    """The first owner's operation goes on elsewhere."""
    return change(lock(), lock(pendingSince="then", leaseExpiresAt=2000), by, state)


def again_in_direct_lane(given: Any = ASKING, at: str = SENT, by: str = DIRECT) -> list[Happened]:
    """A failure that a function tries again; `ran` is its invocation."""
    return [by_direct(failed(), lock(DIRECT, 2, attempts=1, acquiredAt="now"), by), ran(DIRECT, given=given, at=at)]


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
        "P1 twice: its lease not over", taken(lock(leaseExpiresAt=1000)), taken(lock(leaseExpiresAt=999))
    ),
    "a live owner keeps its lock": Rule(
        "P1 twice: from an owner that is RUNNING", taken(owner_is="RUNNING"), taken(owner_is="TIMED_OUT")
    ),
    "an owner that waits to be redriven keeps its lock": Rule(
        "P1 twice: from an owner that is PENDING_REDRIVE",
        taken(owner_is="PENDING_REDRIVE"),
        taken(owner_is="DOES_NOT_EXIST"),
    ),
    "a live owner gives its lock away only by releasing it": Rule(
        "P1 twice: from an owner that is RUNNING",
        taken(lock(FAST), owner_is="RUNNING"),
        taken(lock(FAST, leaseExpiresAt=0), owner_is="RUNNING"),
    ),
    "two runs of one execution are two owners": Rule(
        "P1 twice: from an owner that is RUNNING",
        change(lock(FAST), lock(RUN_AGAIN, 2), RUN_AGAIN, owner_is="RUNNING"),
        change(lock(FAST), lock(FAST, 2), FAST, owner_is="RUNNING"),
    ),
    "who works elsewhere does nothing here": Rule(
        "P1 twice: from an owner that is RUNNING",
        taken(lock(FAST), owner_is="RUNNING"),
        taken(lock(FAST, pendingSince="then"), owner_is="RUNNING"),
    ),
    "what goes on elsewhere has its time": Rule(
        "P1 twice: its lease not over",
        taken(lock(pendingSince="then", leaseExpiresAt=1000)),
        taken(lock(pendingSince="then", leaseExpiresAt=999)),
    ),
    "a new owner works here": Rule(
        "P1 twice: pending, though",
        taken(lock(pendingSince="then"), lock(SECOND, 2, pendingSince="then")),
        [kept_open(), taken(lock(pendingSince="then"))],
    ),
    "what an operator starts again is not pending": Rule(
        "P1 twice: pending, though",
        by_operator(lock(), lock("operator-1", 2, leaseExpiresAt=0, attempts=0, pendingSince="then")),
        by_operator(lock(pendingSince="then"), lock("operator-1", 2, leaseExpiresAt=0, attempts=0)),
    ),
    "a ticket takes the next fence": Rule(
        "P1 broken: fence 1 became 1", by_ticket(lock(), done(TICKET)), by_ticket(lock(), done(TICKET, 2))
    ),
    # P2
    "a ticket is good until its operation begins anew": Rule(
        "P5 broken: its tickets are void", taken(new=lock(SECOND, 2, acquiredAt="now")), tried_again(acquiredAt="now")
    ),
    "only who acquires a free lock makes new tickets": Rule(
        "P5 broken: its tickets are void",
        change(lock(), lock(SECOND, 2, acquiredAt="now"), state="AcquireLock"),
        change(done(expiresAt=999), lock(SECOND, 2, acquiredAt="now"), state="AcquireLock"),
    ),
    "new tickets are made in one state": Rule(
        "P5 broken: its tickets are void",
        change(done(expiresAt=999), lock(SECOND, 2, acquiredAt="now"), state="TakeNextFence"),
        change(done(expiresAt=999), lock(SECOND, 2, acquiredAt="now"), state="AcquireLock"),
    ),
    "nobody unknown makes new tickets": Rule(
        "P5 broken: its tickets are void",
        by_nobody(done(expiresAt=999), lock(SECOND, 2, acquiredAt="now")),
        by_nobody(done(expiresAt=999), lock(SECOND, 2)),
    ),
    "a ticket ends what is quarantined, too": Rule(
        "P2 twice: left its quarantine",
        change(quarantined(), failed(SECOND, 2), SECOND),
        by_ticket(quarantined(), failed(TICKET, 2)),
    ),
    "a ticket forgets no step of what failed": Rule(
        "P2 twice: a finished step was forgotten",
        by_ticket(lock(steps=STEPS), failed(TICKET, 2)),
        by_ticket(lock(steps=STEPS), failed(TICKET, 2, steps=STEPS)),
    ),
    "a quarantine is left to the operator": Rule(
        "P2 twice: left its quarantine",
        change(quarantined(), quarantined(finishedAt="later")),
        change(quarantined(), lock(fence=2), kind="operator"),
    ),
    "nobody but an operator says who decided": Rule(
        "P5 lost: who decided what was changed",
        change(lock(decisions=DECIDED), lock(decisions=[])),
        [made(lock(), failed("operator-1", 2, decisions=DECIDED)) for made in (by_operator, by_nobody)],
    ),
    "who decided is known after the next request": Rule(
        "P5 lost: who decided what was changed",
        change(failed(expiresAt=999, decisions=DECIDED), lock(SECOND, 2), SECOND, "AcquireLock"),
        change(failed(expiresAt=999, decisions=DECIDED), lock(SECOND, 2, decisions=DECIDED), SECOND, "AcquireLock"),
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
        "P2 twice: says for its owner", released(by=SECOND), released()
    ),
    "an owner that may be started again has released its lock": Rule(
        "P2 twice: says for its owner", released(state="BackOff"), released()
    ),
    "an operator says that it may be started again": Rule(
        "P2 twice: says for its owner",
        released(state=""),
        change(lock(), lock("operator-1", 2, leaseExpiresAt=0, attempts=0), kind="operator"),
    ),
    "a new owner may not be started again": Rule(
        "P2 twice: a new attempt may be started again",
        taken(lock(leaseExpiresAt=0), lock(SECOND, 2, leaseExpiresAt=0)),
        taken(lock(leaseExpiresAt=0), lock(SECOND, 2)),
    ),
    "recovery takes no free lock": Rule(
        "P2 twice: recovery took a free lock", opened_by(RECOVERS), opened_by("recover-2")
    ),
    "recovery does not take what was released": Rule(
        "P2 twice: recovery took a free lock",
        opened_by(RECOVERS, failed(expiresAt=999)),
        opened_by("sent-by-somebody", failed(expiresAt=999)),
    ),
    "recovery takes the lock that is there": Rule(
        "P2 twice: recovery took a free lock",
        opened_by(RECOVERS),
        [change(lock(), lock(full(RECOVERS), 2), state="TakeNextFence"), ran(full(RECOVERS))],
    ),
    "recovery says once more how it ended": Rule(
        "P2 twice: recovery took a free lock",
        opened_by(RECOVERS),
        [change(done(full(RECOVERS)), done(full(RECOVERS), expiresAt=4999)), ran(full(RECOVERS))],
    ),
    "an operator takes a free lock": Rule(
        "P2 twice: recovery took a free lock",
        opened_by(RECOVERS),
        [by_operator(done(expiresAt=999), lock(fence=2)), by_nobody(None, lock())],
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
    "a failure is tried again for who is known": Rule(
        "P2 twice: did not ask", change(failed(), lock(SECOND, 2, attempts=1), state="AcquireLock"), tried_again()
    ),
    "a request that came before a failure does not try it again": Rule(
        "P2 twice: which had come before it", tried_again(at=BEFORE), tried_again(at=SENT)
    ),
    "a request that was handed over came when it came to the fast lane": Rule(
        "P2 twice: which had come before it",
        tried_again(by=full(f"first-{'a' * 40}-0000000999000"), at=LATER),
        tried_again(by=full(f"first-{'a' * 40}-0000000999001"), at=BEFORE),
    ),
    "a failure is tried again in one state": Rule(
        "P3 broken: after it was FAILED", tried_again(state="TakeNextFence"), tried_again(state="AcquireLock")
    ),
    "a failure is tried again by who gets its lock": Rule(
        "P3 broken: after it was FAILED", tried_again(owner=FIRST), tried_again()
    ),
    "a failure is tried again for who says so": Rule(
        "P3 broken: after it was FAILED", by_nobody(failed(), lock(SECOND, 2, attempts=1)), tried_again()
    ),
    "nothing but a lock is taken when a failure is tried again": Rule(
        "P3 broken: ['error'] changed after it was FAILED",
        change(failed(), failed(error=error("Other"), attempts=1), state="AcquireLock"),
        tried_again(),
    ),
    "an answer is not tried again": Rule("P3 broken: after it was COMPLETED", tried_again(done()), tried_again()),
    "the direct lane tries a failure again for who asks": Rule(
        "P2 twice: did not ask", again_in_direct_lane(REQUEST), again_in_direct_lane()
    ),
    "what the direct lane was asked for need not be known": Rule(
        "P2 twice: which had come before it", again_in_direct_lane(at=BEFORE), again_in_direct_lane()[:1]
    ),
    "the direct lane tries a failure again by who gets its lock": Rule(
        "P3 broken: after it was FAILED", again_in_direct_lane(by=NEXT_CALL), again_in_direct_lane()
    ),
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
    "another run says nothing for the owner": Rule(
        "P3 broken: ['expiresAt'] changed",
        change(done(FAST), done(FAST, expiresAt=4999), RUN_AGAIN),
        change(done(FAST), done(FAST, expiresAt=4999), FAST),
    ),
    "nobody unknown changes an answer": Rule(
        "P3 broken: changed after it was COMPLETED",
        by_nobody(done(), done(expiresAt=4999)),
        change(done(), done(expiresAt=4999)),
    ),
    "nothing is taken from a failure": Rule(
        "P3 broken: ['steps'] changed after it was FAILED",
        change(failed(steps=STEPS), failed()),
        change(failed(steps=STEPS), failed(steps=STEPS, expiresAt=4999)),
    ),
    "an operator changes no answer": Rule(
        "P3 broken: changed after it was COMPLETED",
        change(done(), lock(), kind="operator"),
        change(done(), None, kind="operator"),
    ),
    "an operator who forgets an answer says so": Rule(
        "P3 broken: changed after it was COMPLETED",
        change(done(), forgotten(error={"name": "ReleasedByOperator", "message": ""}), kind="operator"),
        [change(done(), forgotten(), kind="operator"), change(forgotten(), forgotten(fence=3), kind="operator")],
    ),
    "nobody but an operator forgets an answer": Rule(
        "P3 broken: changed after it was COMPLETED",
        change(done(), forgotten(SECOND), SECOND),
        change(done(), forgotten(), kind="operator"),
    ),
    "who forgets takes the next fence": Rule(
        "P1 broken: fence 1 became 1",
        change(done(), forgotten(fence=1), kind="operator"),
        change(done(), forgotten(), kind="operator"),
    ),
    "a ticket ends its own try": Rule(
        "P3 broken: another try's ticket",
        by_ticket(lock(), done(TICKET, 2), "before f acme#charge-payment#key-1"),
        by_ticket(lock(leaseExpiresAt=2000), done(TICKET, 2)),
    ),
    "a ticket ends nothing that has ended": Rule(
        "P3 broken: changed after it was COMPLETED",
        by_ticket(done(), failed(TICKET, 2)),
        by_ticket(lock(), failed(TICKET, 2)),
    ),
    # P4
    "a ticket can be brought by anybody": Rule(
        "P1 twice: its lease not over",
        by_nobody(lock(leaseExpiresAt=2000), done(SECOND, 2)),
        by_nobody(lock(leaseExpiresAt=2000), done(TICKET, 2)),
    ),
    "a ticket can be brought by a function": Rule(
        "P4 broken: a function without the lock",
        by_function(lock(), done(SECOND, 2)),
        by_function(lock(), done(TICKET, 2)),
    ),
    "a ticket is not brought by an execution": Rule(
        "P4 broken: in  changed ['attempts', 'expiresAt'",
        change(lock(), done(TICKET, 2), SECOND),
        by_nobody(lock(), done(TICKET, 2)),
    ),
    **{
        f"work elsewhere makes a lease longer, {told}": Rule(
            "P4 broken: work elsewhere changed ['leaseExpiresAt'] of 900",
            says(lock(), lock(leaseExpiresAt=899)),
            says(lock(), lock(leaseExpiresAt=901)),
        )
        for told, says in (("by its ticket", by_ticket), ("by a function", by_function), ("whoever says so", by_nobody))
    },
    "an execution makes no other's lease longer": Rule(
        "P4 broken: in  changed ['leaseExpiresAt']",
        change(lock(), lock(leaseExpiresAt=901), SECOND),
        change(lock(), lock(leaseExpiresAt=899), FIRST),
    ),
    "work elsewhere revives no lock that was released": Rule(
        "P4 broken: work elsewhere changed ['leaseExpiresAt'] of 0",
        by_ticket(lock(leaseExpiresAt=0), lock(leaseExpiresAt=2000)),
        by_ticket(lock(leaseExpiresAt=1), lock(leaseExpiresAt=2000)),
    ),
    "work elsewhere revives nothing that is quarantined": Rule(
        "P4 broken: work elsewhere changed ['leaseExpiresAt']",
        by_ticket(quarantined(), quarantined(leaseExpiresAt=2000)),
        by_ticket(lock(), lock(leaseExpiresAt=2000)),
    ),
    "work elsewhere changes nothing but the lease": Rule(
        "P4 broken: work elsewhere changed ['error', 'leaseExpiresAt']",
        by_ticket(lock(), lock(leaseExpiresAt=2000, error=error("Error"))),
        by_ticket(lock(), lock(leaseExpiresAt=2000)),
    ),
    "only the owner says that its work goes on elsewhere": Rule(
        "P4 broken: says for its owner that it is pending", kept_open(SECOND), kept_open()
    ),
    "that work goes on elsewhere is said in one state": Rule(
        "P4 broken: says for its owner that it is pending", kept_open(state="Finalize"), kept_open()
    ),
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
    "another run of an execution finishes nothing": Rule(
        "P4 broken: changed ['expiresAt'", change(lock(FAST), done(FAST), RUN_AGAIN), change(lock(FAST), done(FAST))
    ),
    "the fast lane takes no other's lock": Rule(
        "P4 broken: from the fast lane",
        change(lock(), lock(FAST, 2), FAST, "TakeNextFence"),
        change(lock(FAST), lock(FAST, 2), FAST, "TakeNextFence"),
    ),
    "who quarantines for another leaves it its fence": Rule(
        "P4 broken: changed ['attempts', 'error', 'fence'", given_up(quarantined(fence=2)), given_up(quarantined())
    ),
    "who quarantines for another leaves it its owner": Rule(
        "P1 broken: fence 1 became 1", given_up(quarantined(SECOND)), given_up(quarantined())
    ),
    "who quarantines for another names no third": Rule(
        "P4 broken: changed ['error'", given_up(quarantined(full("third"))), given_up(quarantined())
    ),
    "an owner is let alone until its lease is over": Rule(
        "P4 broken: its lease not over",
        given_up(quarantined(FAST), lock(FAST, leaseExpiresAt=1000)),
        given_up(quarantined(FAST), lock(FAST, leaseExpiresAt=999)),
    ),
    "the direct lane takes a free lock only": Rule(
        "P4 broken: has one attempt",
        by_direct(lock(), lock(DIRECT, 2)),
        [by_direct(None, lock(DIRECT)), by_direct(done(expiresAt=999), lock(DIRECT, 2, acquiredAt="now"))],
    ),
    "the direct lane changes no other's lock": Rule(
        "P4 broken: has one attempt",
        by_direct(lock(NEXT_CALL), done(NEXT_CALL)),
        [by_direct(lock(DIRECT), done(DIRECT)), by_direct(lock(DIRECT), failed(DIRECT))],
    ),
    "the direct lane gives its lock to nobody": Rule(
        "P4 broken: has one attempt",
        by_direct(lock(DIRECT), lock(NEXT_CALL, 2)),
        by_direct(lock(DIRECT), quarantined(DIRECT)),
    ),
    "the direct lane has one attempt": Rule(
        "P4 broken: has one attempt",
        by_direct(lock(DIRECT), lock(DIRECT, 2)),
        by_direct(lock(DIRECT), lock(DIRECT, leaseExpiresAt=0, attempts=0)),
    ),
    "the direct lane makes no lease longer without saying why": Rule(
        "P4 broken: has one attempt",
        by_direct(lock(), lock(leaseExpiresAt=2000)),
        by_direct(lock(DIRECT), lock(DIRECT, leaseExpiresAt=2000, pendingSince="then")),
    ),
    "the direct lane says of no other's lock that it is pending": Rule(
        "P4 broken: says for its owner that it is pending",
        by_direct(lock(), lock(leaseExpiresAt=2000, pendingSince="then")),
        by_direct(lock(DIRECT), lock(DIRECT, leaseExpiresAt=2000, pendingSince="then")),
    ),
    "the direct lane releases no other's lock": Rule(
        "P2 twice: says for its owner",
        by_direct(lock(), lock(leaseExpiresAt=0)),
        by_direct(lock(DIRECT), lock(DIRECT, leaseExpiresAt=0)),
    ),
    "an owner in the direct lane is let alone until its lease is over": Rule(
        "P1 twice: its lease not over",
        taken(lock(DIRECT, leaseExpiresAt=1000), owner_is="DOES_NOT_EXIST"),
        taken(lock(DIRECT, leaseExpiresAt=999), owner_is="DOES_NOT_EXIST"),
    ),
    "business logic in the direct lane notes nothing but steps": Rule(
        "P4 broken: a function without the lock",
        by_function(lock(DIRECT), done(DIRECT), DIRECT),
        by_function(lock(DIRECT), lock(DIRECT, steps=STEPS), DIRECT),
    ),
    # P5
    "only an operator removes a record": Rule(
        "P5 lost: its record was removed", change(lock(), None), change(lock(), None, kind="operator")
    ),
    "nobody unknown removes a record": Rule(
        "P5 lost: its record was removed", by_nobody(lock(), None), by_operator(lock(), None)
    ),
    "a request without a tenant is the default one's": Rule(
        "P5 lost: has not kept its request", opened_for("acme"), opened_for("default")
    ),
    "an open record keeps its request": Rule(
        "P5 lost: its request changed", change(lock(), lock(fence=2, request="{}")), change(lock(), lock(fence=2))
    ),
    **{
        f"of what is forgotten nothing is left, {name} neither": Rule(
            f"P5 broken: forgotten, and its record has ['{name}']",
            change(done(), forgotten(**{name: value}), kind="operator"),
            change(done(), forgotten(), kind="operator"),
        )
        for name, value in (("result", "1"), ("resultRef", ref("results/one")), ("steps", STEPS))
    },
    # P6
    "a ticket is for one payload": Rule(
        "P6 broken: the payload changed",
        by_ticket(lock(), done(TICKET, 2, fingerprint="g")),
        by_ticket(lock(), done(TICKET, 2)),
    ),
    "a lock is for one payload": Rule(
        "P6 broken: the payload changed",
        change(lock(), lock(fence=2, fingerprint="g")),
        change(done(expiresAt=999), lock(fence=2, fingerprint="g")),
    ),
}


@pytest.mark.parametrize("sentence", RULES)
def test_a_change_that_breaks_it_is_told_and_its_neighbour_is_not(sentence: str) -> None:
    RULES[sentence].check(at_rest=False)
