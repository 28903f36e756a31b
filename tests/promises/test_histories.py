"""Each rule of whole histories, once recovery has had its time: one that breaks it, and the nearest one that may be."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from promises.story import (
    FAST,
    FIRST,
    NOW,
    OTHER,
    REQUEST,
    SECOND,
    Happened,
    Item,
    Rule,
    answered,
    change,
    done,
    failed,
    fast,
    full,
    lock,
    quarantined,
    ran,
    ref,
    start,
    without,
)

from oncekit.promises.journal import Refusal
from oncekit.promises.owners import name_of_second, name_without_lock

Story = list[Happened]
ASKING = {**REQUEST, "onFailed": "retry"}
BOUND = "acme#charge-payment#key-2"
ELSEWHERE = replace(start(2), id=BOUND)
"""Another operation."""
AGAIN = change(failed(fence=2), lock(SECOND, 3, attempts=1), state="RetryFailed")
LARGE = ref("results/one")
HANDED_OVER = full(name_without_lock(fast("first")))
TOOK_PART = ("TakeOverLock", "RedriveOwner", "ExecuteBusinessLogic")


def done_by(owner: str, *what: Happened, fence: int = 1, given: Any = REQUEST, **more: Any) -> Story:
    """What happens before an owner completes the operation."""
    return [*what, change(lock(owner, fence), done(owner, fence, **more)), ran(owner, given=given)]


def twice(*what: Happened, until: Any = None) -> Story:
    """Business logic is started by the first owner and by the second, which took the lock over, or `until` so."""
    ended = lock(leaseExpiresAt=0)
    taken = [until] if until else [change(lock(), ended, SECOND), change(ended, lock(SECOND, 2))]
    return done_by(SECOND, start(), *what, *taken, start(2, SECOND), fence=2, given=ASKING)


def opened(old: Any, state: str = "") -> Happened:
    return change(old, lock(SECOND, 2, attempts=1), state=state)


def died(*calls: tuple[int, str], owner: str = FIRST, states: tuple[str, ...] = ("ExecuteBusinessLogic",)) -> Any:
    return ran(owner, *calls, status="ABORTED", states=states)


def given_up(why: str, *what: Happened, by: str = SECOND, owner: str = FIRST) -> Story:
    return [change(lock(owner), quarantined(owner, why=why), by), *what]


def refused_redrive(owner: str = FIRST, code: str = "ExecutionNotRedrivable", status: str = "FAILED") -> Refusal:
    return Refusal(NOW, owner, code, status)


def refused(owner: str = SECOND, error: str = "Unavailable") -> Any:
    return ran(owner, status="FAILED", error=error, states=("RefuseRequest",))


def kept(owner: str, **more: Any) -> Happened:
    """A message in the queue of rejected requests."""
    return {"executionArn": owner, "input": {}, **more}


def large_lock(key: str) -> Item:
    return {**without(lock(FAST), "request"), "requestRef": ref(key)}


STARTS = {
    "an attempt starts business logic once": Rule(
        "P2 twice: started 2 times under fence 1", done_by(FIRST, start(), start()), done_by(FIRST, start(), start(2))
    ),
    "careful business logic is started once": Rule(
        "P2 twice: onCrash is quarantine",
        twice(until=change(lock(), lock(SECOND, 2, onCrash="quarantine"))),
        done_by(FIRST, change(None, lock(onCrash="quarantine")), start(), onCrash="quarantine"),
    ),
    "what succeeded is not started again": Rule(
        "P2 twice: after it succeeded under fence 1",
        twice(died((1, ""))),
        twice(died((1, "Error")), ran(SECOND, (2, ""))),
    ),
    "what succeeded keeps nobody else from starting": Rule(
        "P2 twice: after it succeeded", twice(died((1, ""))), done_by(FIRST, start(), ran(FIRST, (1, "")), ELSEWHERE)
    ),
    "what a dead owner in the fast lane did is not known": Rule(
        "P2 twice: after it succeeded", twice(ran(FAST, (1, ""))), twice(died((1, ""), owner=FAST))
    ),
    "an operation begins anew when its answer has expired": Rule(
        "P2 twice: after it succeeded",
        twice(died((1, "")), until=opened(done(expiresAt=1000))),
        twice(died((1, "")), until=opened(done(expiresAt=999))),
    ),
    "an operation begins anew when an operator says so": Rule(
        "P2 twice: after it succeeded under fence 1",
        [change(quarantined(), failed(), kind="operator"), start(2), ran(FIRST, (1, ""))],
        done_by(FIRST, change(quarantined(), lock(), kind="operator"), start(2), ran(FIRST, (1, ""))),
    ),
    "what was permanent is not started again": Rule(
        "P2 twice: after its PermanentError", twice(died((1, "PermanentError"))), twice(died((1, "LockLostError")))
    ),
    "what was permanent keeps nobody else from starting": Rule(
        "P2 twice: after its PermanentError",
        twice(died((1, "PermanentError"))),
        [start(), ELSEWHERE, change(lock(), failed()), ran(FIRST, (1, "PermanentError"))],
    ),
    "what needs attention is not started again": Rule(
        "P2 twice: after its NeedsAttention",
        twice(died((1, "NeedsAttention"))),
        twice(died((1, "NeedsAttention")), change(quarantined(), lock(), kind="operator")),
    ),
    "a failure is started again when a sender has it tried again": Rule(
        "P2 twice: after its PermanentError",
        twice(died((1, "PermanentError")), until=opened(failed())),
        twice(died((1, "PermanentError")), until=opened(failed(), "RetryFailed")),
    ),
    "a failure is not started again until it is tried again": Rule(
        "P2 twice: after its PermanentError under fence 1",
        done_by(SECOND, died((1, "PermanentError")), start(2), AGAIN, fence=3, given=ASKING),
        done_by(SECOND, died((1, "Error")), start(2), AGAIN, fence=3, given=ASKING),
    ),
    "a failure in a second life is not started again": Rule(
        "P2 twice: after its PermanentError under fence 2",
        twice(ran(SECOND, (2, "PermanentError")), start(3), until=opened(failed(), "RetryFailed")),
        twice(ran(SECOND, (2, "PermanentError")), until=opened(failed(), "RetryFailed")),
    ),
    "a decision of a dead owner in the fast lane is not known": Rule(
        "P2 twice: after its PermanentError",
        twice(ran(FAST, (1, "PermanentError"))),
        twice(ran(FAST, (1, "PermanentError"), status="TIMED_OUT")),
    ),
}

ANSWERS = {
    "a duplicate gets the answer that is kept": Rule(
        "P3 broken: got 2",
        done_by(FIRST, answered("second", result="2")),
        done_by(FIRST, answered("second", result="1")),
    ),
    "an owner gets the answer that is kept": Rule(
        "P3 broken: got 2",
        done_by(FIRST, answered("second", result="2", disposition="EXECUTED")),
        done_by(FIRST, answered("second", result="2", disposition="IN_PROGRESS")),
    ),
    "a replay has an answer": Rule(
        "P3 broken: got null", [*twice(), answered("second")], [*twice(), answered("second", result="1")]
    ),
    "a duplicate gets the large answer that is kept": Rule(
        "P3 broken: got {",
        done_by(FIRST, answered("second", resultRef={**LARGE, "sha256": "0"}), resultRef=LARGE),
        done_by(FIRST, answered("second", resultRef=LARGE), resultRef=LARGE),
    ),
    "an answer is of its own id": Rule(
        "P3 broken: got 1",
        done_by(FIRST, answered("second", result="1", id=BOUND)),
        done_by(FIRST, answered("second", result="1")),
    ),
    "an answer is to its own payload": Rule(
        "P6 broken: the answer to another payload",
        done_by(FIRST, answered("second", result="1", given=OTHER), kept(SECOND, input=OTHER)),
        [change(lock(), done()), answered("second", result="1", given=OTHER), kept(SECOND, input=OTHER)],
    ),
    "a duplicate keeps no answer": Rule(
        "P7 broken: a duplicate came through",
        done_by(FIRST, answered("second", result="1", states=("CacheResponse",))),
        done_by(FIRST, *(answered("second", result="1", states=(state, "CacheResponse")) for state in TOOK_PART)),
    ),
    "a duplicate keeps no request": Rule(
        "P7 broken: a duplicate came through",
        done_by(FIRST, answered("second", result="1", states=("KeepRequest",))),
        done_by(FIRST, answered("second", states=("KeepRequest",), disposition="IN_PROGRESS")),
    ),
}

GIVEN_UP = "P5 broken: no redrive of a dead owner was refused"
REASONS = {
    "an owner does not throw its answer away": Rule(
        "P5 broken: threw its own answer away",
        given_up("AttemptsUsedUp", ran(FIRST, (1, "")), by=FIRST),
        given_up("AttemptsUsedUp", ran(FIRST, (1, ""), (2, "Error")), ran(SECOND, (3, "")), by=FIRST),
    ),
    "an owner may have an answer that cannot be kept": Rule(
        "P5 broken: threw its own answer away",
        given_up("AttemptsUsedUp", ran(FIRST, (1, "")), by=FIRST),
        given_up("States.DataLimitExceeded", ran(FIRST, (1, "")), by=FIRST),
    ),
    "a redrive is refused by the service, not by its load": Rule(
        GIVEN_UP,
        given_up("OwnerCannotFinish", died(states=("Finalize",)), refused_redrive(code="ThrottlingException")),
        given_up("OwnerCannotFinish", died(states=("Finalize",)), refused_redrive(code="ExecutionDoesNotExist")),
    ),
    "the refused redrive is one of a dead owner": Rule(
        GIVEN_UP,
        given_up("OwnerCannotFinish", died(states=("Finalize",)), refused_redrive(status="RUNNING")),
        given_up("OwnerCannotFinish", died(states=("Finalize",)), refused_redrive()),
    ),
    "the refused redrive is one of this owner": Rule(
        GIVEN_UP,
        given_up("OwnerCannotFinish", died(states=("Finalize",)), refused_redrive(SECOND)),
        given_up("OwnerCannotFinish", died(states=("BackOff",))),
    ),
    **{
        f"a redrive could finish what died in {state}": Rule(
            GIVEN_UP, given_up("OwnerCannotFinish", died(states=(state,))), given_up("OwnerCrashed", died())
        )
        for state in ("IsResponseLarge", "CacheResponse", "RecordFailure", "KeepRequest", "RecordQuarantine")
    },
    "an owner crashed after it began": Rule(
        "P5 broken: never started business logic",
        given_up("OwnerCrashed", died(states=("AcquireLock",))),
        given_up("OwnerCrashed", died(states=("AcquireLock", "ExecuteBusinessLogic", "Finalize"))),
    ),
    "nobody knows where an owner in the fast lane crashed": Rule(
        "P5 broken: never started business logic",
        given_up("OwnerCrashed", died(states=("AcquireLock",))),
        given_up("OwnerCrashed", died(states=("AcquireLock",), owner=FAST), owner=FAST),
    ),
}

LOST = "P5 lost: left nothing"
ENDS = {
    "a lock comes to an end": Rule("P5 stuck: is in progress", [change(None, lock()), ran()], done_by(FIRST)),
    "an execution comes to an end": Rule(
        "P5 stuck: runs in ('WaitForOwner',)",
        done_by(FIRST, ran(SECOND, status="RUNNING", states=("WaitForOwner",))),
        done_by(FIRST, ran(SECOND, states=("WaitForOwner",))),
    ),
    "a request that was under way has an end": Rule(
        LOST, [died()], [change(lock(), failed()), ran(status="FAILED", error="OperationFailed")]
    ),
    "the end of another payload is not its end": Rule(
        LOST, done_by(FIRST, ran(SECOND, given=OTHER)), done_by(FIRST, ran(SECOND, given=[{"body": REQUEST}]))
    ),
    **{
        f"what is refused as {error} is kept": Rule(
            LOST, done_by(FIRST, refused(error=error), kept(FIRST)), done_by(FIRST, refused(error=error), kept(SECOND))
        )
        for error in ("InvalidRequest", "PayloadMismatch", "Unavailable")
    },
    "what recovery keeps of the dead is their request": Rule(
        LOST, [died(), kept(SECOND, input=OTHER)], [died(), kept(SECOND, input=REQUEST)]
    ),
    "what recovery keeps as text is their request": Rule(
        LOST, [died(), kept(SECOND, inputText="{}")], [died(), kept(SECOND, inputText=json.dumps(REQUEST))]
    ),
    "what recovery cannot keep it names": Rule(LOST, [died(), kept(FIRST)], [died(), kept(FIRST, inputOmitted=True)]),
    "who dies without a lock in the fast lane was not accepted": Rule(LOST, [ran(FAST)], [died(owner=FAST)]),
    "what the fast lane hands over arrives": Rule(
        LOST, [ran(FAST)], [ran(FAST), refused(owner=HANDED_OVER), kept(HANDED_OVER)]
    ),
    "what recovery sends again arrives": Rule(
        LOST,
        done_by(FIRST, ran(SECOND, given=OTHER)),
        done_by(FIRST, ran(SECOND, given=OTHER), ran(full(name_of_second(SECOND)))),
    ),
    "a quarantined request is its owner's": Rule(
        "P5 lost: is not its owner's",
        given_up("E", ran(given=OTHER), ran(SECOND), kept(SECOND, input=REQUEST)),
        given_up("E", ran(given=[{"body": REQUEST}]), ran(SECOND)),
    ),
    "a quarantined request is as it came": Rule(
        "P5 lost: is not its owner's", given_up("E", ran(given={**REQUEST, "tenant": "b"})), given_up("E", ran())
    ),
    "a request in the fast lane is kept as it came": Rule(
        "P5 lost: has not kept its request",
        done_by(FAST, change(None, lock(FAST, request="{}"))),
        done_by(FAST, change(None, lock(FAST))),
    ),
    "a large request in the fast lane is there": Rule(
        "P5 lost: has not kept its request",
        done_by(FAST, change(None, large_lock("requests/gone"))),
        done_by(FAST, change(None, large_lock("requests/mine"))),
    ),
}
RULES = {**STARTS, **ANSWERS, **REASONS, **ENDS}


@pytest.mark.parametrize("sentence", RULES)
def test_a_history_that_breaks_it_is_told_and_its_neighbour_is_not(sentence: str) -> None:
    RULES[sentence].check()
