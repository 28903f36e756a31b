"""Each rule of whole histories, once recovery has had its time: one that breaks it, and the nearest one that may be."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from promises.story import (
    DIRECT,
    FAST,
    FIRST,
    FOLDER,
    ID,
    LATER,
    NEXT_CALL,
    OTHER,
    REQUEST,
    RUN_AGAIN,
    SECOND,
    SENT,
    TICKET,
    Happened,
    Item,
    Rule,
    answered,
    by_direct,
    by_nobody,
    by_operator,
    by_ticket,
    change,
    done,
    failed,
    fast,
    forgotten,
    full,
    large,
    lock,
    quarantined,
    ran,
    ref,
    start,
    without,
)

from oncekit.promises.checker import id_of
from oncekit.promises.evidence import by_http
from oncekit.promises.journal import Start
from oncekit.promises.openings import request_of, unseen_starts
from oncekit.promises.owners import handed_over_by

Story = list[Happened]
ASKING = {**REQUEST, "onFailed": "retry"}
BOUND = "acme#charge-payment#key-2"
ELSEWHERE = replace(start(2), id=BOUND)
"""Another operation."""
AGAIN = change(failed(fence=2), lock(SECOND, 3, attempts=1), state="AcquireLock")
LARGE = ref("results/one")
FIRST_COME, RECOVERS = f"first-{handed_over_by(fast('first'))}-0000001000000", f"recover-{'a' * 32}-1-3"
HANDED_OVER = full(FIRST_COME)
REFUSED_THERE = full(f"refused-{handed_over_by(fast('first'))}")
TOOK_PART = ("TakeNextFence", "ExecuteBusinessLogic")


def done_by(owner: str, *what: Happened, fence: int = 1, given: Any = REQUEST, **more: Any) -> Story:
    """What happens before an owner completes the operation."""
    return [*what, change(lock(owner, fence), done(owner, fence, **more)), ran(owner, given=given)]


def twice(*what: Happened, until: Any = None) -> Story:
    """Business logic is started by the first owner and by the second, which took the lock over, or `until` so."""
    taken = until or change(lock(), lock(SECOND, 2))
    return done_by(SECOND, start(), *what, taken, start(2, SECOND), fence=2, given=ASKING)


def started_again(until: Any) -> Story:
    """Careful business logic is started by the first owner and, after a lock that was released so, by the second."""
    released = lock("operator-1", 2, leaseExpiresAt=0, attempts=0)
    begun = [start(), until(lock(), released), change(released, lock(SECOND, 3)), start(3, SECOND)]
    return done_by(SECOND, *begun, fence=3, onCrash="quarantine")


def elsewhere(**more: Any) -> Any:
    """What the first owner did: business logic has started work elsewhere."""
    return ran(FIRST, (1, {"replyToken": "token", "oncePending": 60, **more}))


def waiting(**more: Any) -> Story:
    return [change(None, lock(**more)), ran()]


def got(result: str, owner: str = FIRST) -> Any:
    """What the sender of an owner's request got."""
    return ran(owner, output={"id": ID, "disposition": "EXECUTED", "result": result})


def other_owner() -> Story:
    """Somebody has had the other payload done, at some time."""
    return [change(lock(SECOND), failed(SECOND)), ran(SECOND, given=OTHER)]


def opened(old: Any, state: str = "") -> Happened:
    return change(old, lock(SECOND, 2, attempts=1), state=state)


def died(*calls: tuple[int, str], owner: str = FIRST, states: tuple[str, ...] = ("ExecuteBusinessLogic",)) -> Any:
    return ran(owner, *calls, status="ABORTED", states=states)


def given_up_by_nobody(**more: Any) -> Story:
    return [by_nobody(lock(**more), quarantined(why="OwnerCrashed", **more))]


def in_the_way(said: str, why: str = "NeedsAttention") -> Story:
    """The owner succeeded, and quarantined its operation with this message."""
    why_it_is = {"error": {"name": why, "message": said}}
    return [change(lock(), quarantined(**why_it_is), FIRST), ran(FIRST, (1, ""))]


def given_up(why: str, *what: Happened, by: str = SECOND, **more: Any) -> Story:
    return [change(lock(**more), quarantined(why=why, **more), by), *what]


def ended(error: str, *states: str) -> Any:
    """By AWS."""
    return ran(status="FAILED", error=error, states=states)


def refused(owner: str = SECOND, error: str = "InvalidRequest", **more: Any) -> Any:
    return ran(owner, status="FAILED", error=error, states=("RefuseRequest",), **more)


def kept(owner: str, **more: Any) -> Happened:
    """What is kept of a refused request."""
    return {"executionArn": owner, "input": REQUEST, **more}


def opens(*saw: tuple[str, str], given: Any = REQUEST) -> Story:
    """An execution saw these statuses in these states, one after the other, and owns the lock."""
    return [change(None, lock()), change(lock(), done()), ran(saw=saw, given=given)]


def keeps(record: Item, given: Any = REQUEST) -> Story:
    owner = record["owner"]
    return [change(None, record), change(record, done(owner)), ran(owner, given=given)]


GONE = large(lock(), f"{FOLDER}/gone")


def comes_after_forgetting(record: Item) -> Story:
    taken = {**record, "fence": 3}
    return [
        change(done(), forgotten(expiresAt=999), kind="operator"),
        change(forgotten(expiresAt=999), taken, state="AcquireLock"),
        change(taken, done(fence=3)),
        ran(),
    ]


def raised(*what: Happened, by: str = DIRECT, error: str = "Unavailable", given: Any = REQUEST) -> Story:
    """In the direct lane, whose sender knows; it is sent again by somebody else."""
    return [*what, {"executionArn": by, "byHttp": ""}, refused(by, error, given=given), *done_by(SECOND)]


STARTS = {
    "an attempt starts business logic once": Rule(
        "P2 twice: started 2 times under fence 1", done_by(FIRST, start(), start()), done_by(FIRST, start(), start(2))
    ),
    "careful business logic is started once": Rule(
        "P2 twice: onCrash is quarantine",
        twice(until=change(lock(), lock(SECOND, 2, onCrash="quarantine"))),
        done_by(FIRST, change(None, lock(onCrash="quarantine")), start(), onCrash="quarantine"),
    ),
    "what succeeded keeps nobody else from starting": Rule(
        "P2 twice: after it succeeded",
        twice(ran(FIRST, (1, ""))),
        done_by(FIRST, start(), ran(FIRST, (1, "")), ELSEWHERE),
    ),
    "what an owner did that AWS ended is not known": Rule(
        "P2 twice: after it succeeded",
        twice(ran(FIRST, (1, ""), status="FAILED", error="LockLost")),
        twice(ran(FIRST, (1, ""), status="FAILED", error="DynamoDB.InternalServerErrorException")),
    ),
    "what goes on elsewhere is not known to be done": Rule(
        "P2 twice: after it succeeded", twice(elsewhere(replyToken="mine")), twice(elsewhere())
    ),
    "what only looks as if it went on elsewhere is done": Rule(
        "P2 twice: after it succeeded", twice(elsewhere(more=1)), twice(elsewhere())
    ),
    "careful business logic is started again for an operator": Rule(
        "P2 twice: onCrash is quarantine", started_again(by_nobody), started_again(by_operator)
    ),
    "careful business logic is started again for nobody else": Rule(
        "P2 twice: onCrash is quarantine", started_again(change), started_again(by_operator)
    ),
    "an operation begins anew when its answer has expired": Rule(
        "P2 twice: after it succeeded",
        twice(ran(FIRST, (1, "")), until=opened(done(expiresAt=1000))),
        twice(ran(FIRST, (1, "")), until=opened(done(expiresAt=999))),
    ),
    "what was permanent keeps nobody else from starting": Rule(
        "P2 twice: after its PermanentError",
        twice(ran(FIRST, (1, "PermanentError"))),
        [start(), ELSEWHERE, change(lock(), failed()), ran(FIRST, (1, "PermanentError"))],
    ),
    "what needs attention is not started again": Rule(
        "P2 twice: after its NeedsAttention",
        twice(ran(FIRST, (1, "NeedsAttention"))),
        twice(ran(FIRST, (1, "NeedsAttention")), until=change(quarantined(), lock(SECOND, 2), kind="operator")),
    ),
    "a failure is started again when a sender has it tried again": Rule(
        "P2 twice: after its PermanentError",
        twice(ran(FIRST, (1, "PermanentError")), until=opened(failed())),
        twice(ran(FIRST, (1, "PermanentError")), until=opened(failed(), "AcquireLock")),
    ),
    "a failure is not started again until it is tried again": Rule(
        "P2 twice: after its PermanentError under fence 1",
        done_by(SECOND, ran(FIRST, (1, "PermanentError")), start(2), AGAIN, fence=3, given=ASKING),
        done_by(SECOND, ran(FIRST, (1, "Error")), start(2), AGAIN, fence=3, given=ASKING),
    ),
    "a failure in a second life is not started again": Rule(
        "P2 twice: after its PermanentError under fence 2",
        twice(ran(SECOND, (2, "PermanentError")), start(3), until=opened(failed(), "AcquireLock")),
        twice(ran(SECOND, (2, "PermanentError")), until=opened(failed(), "AcquireLock")),
    ),
    "what an operator failed is not started again": Rule(
        "P2 twice: after its NeedsAttention",
        twice(ran(FIRST, (1, "NeedsAttention")), until=by_operator(quarantined(), failed("operator-1", 2))),
        twice(ran(FIRST, (1, "NeedsAttention")), until=by_operator(quarantined(), lock("operator-1", 2))),
    ),
    "an error without a name is no success": Rule(
        "P2 twice: after it succeeded", twice(ran(FIRST, (1, ""))), twice(ran(FIRST, (1, None)))
    ),
    "an answer with a status is a success": Rule(
        "P2 twice: after it succeeded", twice(ran(FIRST, (1, {"statusCode": 503}))), twice(ran(FIRST, (1, None)))
    ),
    "what has no lock in its event is nobody's end": Rule(
        "P2 twice: after it succeeded", twice(ran(FIRST, (1, ""))), twice(ran("", (1, "")))
    ),
    "a decision of a dead owner is not known": Rule(
        "P2 twice: after its PermanentError",
        twice(ran(FAST, (1, "PermanentError"))),
        twice(ran(FAST, (1, "PermanentError"), status="TIMED_OUT")),
    ),
    "who has seen a lock takes none when it is gone": Rule(
        "P2 twice: took a lock anew",
        opens(("ReadRecord", "IN_PROGRESS"), ("AcquireLock", "")),
        opens(("AcquireLock", ""), ("ReadRecord", "IN_PROGRESS")),
    ),
    "who has seen a lock hands nothing over": Rule(
        "P2 twice: took a lock anew",
        opens(("ReadRecord", "IN_PROGRESS"), ("HandOver", FIRST_COME)),
        opens(("ReadRecord", ""), ("HandOver", FIRST_COME), ("ReadRecord", "IN_PROGRESS")),
    ),
    "who has released a lock hands it over to a recovery": Rule(
        "P2 twice: took a lock anew",
        opens(("AcquireLock", ""), ("HandOver", FIRST_COME)),
        opens(("AcquireLock", ""), ("HandOver", RECOVERS)),
    ),
    "who has held a lock takes none when it is gone": Rule(
        "P2 twice: took a lock anew",
        opens(("AcquireLock", ""), ("ReadRecord", ""), ("AcquireLock", "")),
        opens(("ReadRecord", ""), ("ReadRecord", "FAILED"), ("AcquireLock", "")),
    ),
}

ANSWERS = {
    "a duplicate gets the answer that is kept": Rule(
        "P3 broken: got 2",
        done_by(FIRST, answered("second", result="2")),
        done_by(FIRST, answered("second", result="1")),
    ),
    "a replay has an answer": Rule(
        "P3 broken: got null", [*twice(), answered("second")], [*twice(), answered("second", result="1")]
    ),
    "a duplicate gets the answer that work elsewhere gave": Rule(
        "P3 broken: got 2",
        [change(None, lock()), ran(), by_ticket(lock(), done(TICKET, 2)), answered("second", result="2")],
        [change(None, lock()), ran(), by_ticket(lock(), done(TICKET, 2)), answered("second", result="1")],
    ),
    "a duplicate gets the large answer that is kept": Rule(
        "P3 broken: got {",
        done_by(FIRST, answered("second", resultRef={**LARGE, "sha256": "0"}), resultRef=LARGE),
        done_by(FIRST, answered("second", resultRef=LARGE), resultRef=LARGE),
    ),
    "an answer is to its own payload": Rule(
        "P6 broken: the answer to another payload",
        done_by(FIRST, *other_owner(), answered("third", result="1", given=OTHER)),
        [change(lock(), done()), *other_owner(), answered("third", result="1", given=OTHER)],
    ),
    "the first sender gets the answer that is kept": Rule(
        "P3 broken: got 2", [change(lock(), done()), got("2")], [change(lock(), done()), got("1")]
    ),
    "the first sender gets what duplicates get": Rule(
        "P3 broken: got 2",
        [change(lock(), done()), got("2"), answered("second", result="1")],
        [change(lock(), done()), got("1"), answered("second", result="1")],
    ),
    "a duplicate keeps no answer": Rule(
        "P7 broken: a duplicate came through",
        done_by(FIRST, answered("second", result="1", states=("CacheResponse",))),
        done_by(FIRST, *(answered("second", result="1", states=(state, "CacheResponse")) for state in TOOK_PART)),
    ),
    "a duplicate keeps no request": Rule(
        "P7 broken: a duplicate came through",
        done_by(FIRST, answered("second", result="1", states=("KeepRequest",), at=LATER)),
        done_by(
            FIRST,
            answered("second", states=("KeepRequest",), disposition="IN_PROGRESS"),
            answered("third", result="1", at=LATER),
        ),
    ),
    "a duplicate that came before the answer may have kept its request": Rule(
        "P7 broken: a duplicate came through",
        done_by(FIRST, answered("second", result="1", states=("KeepRequest",), at=LATER)),
        done_by(FIRST, answered("second", result="1", states=("KeepRequest",), at=SENT)),
    ),
}

REASONS = {
    "an owner does not throw its answer away": Rule(
        "P5 broken: threw its own answer away",
        given_up("AttemptsUsedUp", ran(FIRST, (1, "")), by=FIRST),
        given_up("AttemptsUsedUp", ran(FIRST, (1, ""), (2, "Error")), ran(SECOND, (3, "")), by=FIRST),
    ),
    "an owner may have an answer that cannot be kept": Rule(
        "P5 broken: threw its own answer away",
        given_up("AttemptsUsedUp", ran(FIRST, (1, "")), by=FIRST),
        given_up("ResultUnreadable", ran(FIRST, (1, "")), by=FIRST),
    ),
    "an owner may have an answer whose place is taken": Rule(
        "P5 broken: threw its own answer away",
        in_the_way("the function needs attention"),
        in_the_way("business logic succeeded, but another object is where its answer goes"),
    ),
    "only an answer that cannot be kept is in the way": Rule(
        "P5 broken: threw its own answer away",
        in_the_way("business logic succeeded", "AttemptsUsedUp"),
        in_the_way("business logic succeeded"),
    ),
    "an owner does not have the answer of another run": Rule(
        "P5 broken: threw its own answer away",
        given_up("AttemptsUsedUp", ran(RUN_AGAIN, (1, "")), by=RUN_AGAIN, owner=RUN_AGAIN),
        given_up("AttemptsUsedUp", ran(FAST, (1, "")), by=RUN_AGAIN, owner=RUN_AGAIN),
    ),
    "what nobody known quarantines is judged, too": Rule(
        "P5 broken: though it may be started again",
        given_up_by_nobody(),
        given_up_by_nobody(onCrash="quarantine"),
    ),
    "an operator may note something in a quarantine": Rule(
        "P5 broken: though it may be started again",
        given_up("OwnerCrashed", ran()),
        [by_operator(quarantined(why="OwnerCrashed"), quarantined(why="OwnerCrashed", finishedAt="later"))],
    ),
    "a crash is an operator's case for who asked for that": Rule(
        "P5 broken: though it may be started again",
        given_up("OwnerCrashed", ran()),
        given_up("OwnerCrashed", ran(), onCrash="quarantine"),
    ),
    "work elsewhere that takes too long is an operator's case for who asked for that": Rule(
        "P5 broken: though it may be started again",
        given_up("PendingTimedOut", ran(), pendingSince="then"),
        given_up("PendingTimedOut", ran(), pendingSince="then", onCrash="quarantine"),
    ),
    "an operator is told of work elsewhere": Rule(
        "P5 broken: since then pending",
        given_up("OwnerCrashed", ran(), pendingSince="then", onCrash="quarantine"),
        given_up("PendingTimedOut", ran(), pendingSince="then", onCrash="quarantine"),
    ),
    "an operator is told of no work elsewhere where there is none": Rule(
        "P5 broken: since None pending",
        given_up("PendingTimedOut", ran(), onCrash="quarantine"),
        given_up("OwnerCrashed", ran(), onCrash="quarantine"),
    ),
    "what was released is started again": Rule(
        "P5 broken: though it may be started again",
        given_up("OwnerCrashed", ran(), onCrash="quarantine", leaseExpiresAt=0),
        given_up("AttemptsUsedUp", ran(), onCrash="quarantine", leaseExpiresAt=0),
    ),
}

LOST = "P5 lost: left nothing"
ENDS = {
    "a lock comes to an end": Rule("P5 stuck: is in progress", [change(None, lock()), ran()], done_by(FIRST)),
    "what goes on elsewhere has its time": Rule(
        "P5 stuck: is in progress",
        waiting(pendingSince="then", leaseExpiresAt=999),
        waiting(pendingSince="then", leaseExpiresAt=1000),
    ),
    "only what goes on elsewhere has time": Rule(
        "P5 stuck: is in progress", waiting(leaseExpiresAt=1000), waiting(pendingSince="then", leaseExpiresAt=1000)
    ),
    "an execution comes to an end": Rule(
        "P5 stuck: runs in ('WaitForOwner',)",
        done_by(FIRST, ran(SECOND, status="RUNNING", states=("WaitForOwner",))),
        done_by(FIRST, ran(SECOND, states=("WaitForOwner",))),
    ),
    "the end of another payload is not its end": Rule(
        LOST, done_by(FIRST, ran(SECOND, given=OTHER)), done_by(FIRST, ran(SECOND, given=[{"body": REQUEST}]))
    ),
    **{
        f"what is refused as {error} is kept": Rule(
            LOST, done_by(FIRST, refused(error=error), kept(FIRST)), done_by(FIRST, refused(error=error), kept(SECOND))
        )
        for error in ("InvalidRequest", "PayloadMismatch")
    },
    "what is refused is kept as it came": Rule(
        LOST, [refused(), kept(SECOND, input=OTHER)], [refused(), kept(SECOND, input=REQUEST)]
    ),
    "what cannot be kept is named": Rule(
        LOST, [refused(), {"executionArn": SECOND}], [refused(), {"executionArn": SECOND, "inputOmitted": "large"}]
    ),
    "an empty batch is kept": Rule(LOST, [refused(given=[])], [refused(given=[]), kept(SECOND, input=[])]),
    "who is refused by HTTP knows it": Rule(
        LOST, [refused(), {"executionArn": FIRST, "byHttp": ""}], [refused(), {"executionArn": SECOND, "byHttp": ""}]
    ),
    "the fast lane alone is unavailable": Rule(
        LOST,
        [refused(error="Unavailable"), kept(SECOND)],
        [refused(fast("first"), error="Unavailable"), kept(fast("first"))],
    ),
    "who is stopped without a lock is its stopper's": Rule(LOST, [ran(FAST)], [died(owner=FAST)]),
    "who is stopped with a lock comes to an end": Rule(
        "P5 stuck: is in progress",
        [change(None, lock()), died()],
        [change(None, lock(SECOND)), *done_by(SECOND), died()],
    ),
    "what AWS ends at its first look is in AWS's hands": Rule(
        LOST,
        [ended("States.QueryEvaluationError", "ReceiveRequest", "AcquireLock")],
        [ended("States.QueryEvaluationError", "ReceiveRequest")],
    ),
    "what a machine ends at its first look is in nobody's hands": Rule(
        LOST,
        [ended("InvalidRequest", "ReceiveRequest")],
        [ended("InvalidRequest", "ReceiveRequest"), kept(FIRST)],
    ),
    "the full lane gives up on no service before AWS ends it": Rule(
        LOST, [ended("DynamoDB.InternalServerErrorException")], [ran(status="TIMED_OUT")]
    ),
    "what the fast lane hands over arrives": Rule(
        LOST, [ran(FAST)], [ran(FAST), refused(owner=HANDED_OVER), kept(HANDED_OVER)]
    ),
    "what the fast lane cannot keep the full one keeps": Rule(
        LOST, [refused(FAST)], [refused(FAST), refused(owner=REFUSED_THERE), kept(REFUSED_THERE)]
    ),
    "a request is kept with its lock": Rule(
        "P5 lost: has not kept its request", keeps(lock(request="{}")), keeps(lock(), [{"body": REQUEST}])
    ),
    "a request is kept for what it asks to be done": Rule(
        "P5 lost: has not kept its request", keeps(lock(FAST), OTHER), keeps(lock(FAST), ASKING)
    ),
    "a lock has its owner's request": Rule(
        "P5 lost: has not kept its request", keeps(without(lock(), "request")), keeps(lock())
    ),
    "a large request is there": Rule(
        "P5 lost: has not kept its request", keeps(large(lock(), f"{FOLDER}/gone")), keeps(large(lock()))
    ),
    "a large request is there until it is forgotten": Rule(
        "P5 lost: has not kept its request",
        [*keeps(GONE), change(done(), done(), FIRST)],
        [*keeps(GONE), change(done(), forgotten(), kind="operator")],
    ),
    "a large request that comes after its id was forgotten is there": Rule(
        "P5 lost: has not kept its request", comes_after_forgetting(GONE), comes_after_forgetting(large(lock()))
    ),
    "what was refused is there until its id is forgotten": Rule(
        LOST,
        done_by(FIRST, refused(error="PayloadMismatch")),
        [*done_by(FIRST, refused(error="PayloadMismatch")), change(done(), forgotten(), kind="operator")],
    ),
    "a large request is its owner's": Rule(
        "P5 lost: has not kept its request", keeps(large(lock(), f"{FOLDER}/other")), keeps(large(lock()))
    ),
}
IN_DIRECT_LANE = {
    "a duplicate of a function's request gets its answer": Rule(
        "P6 broken: the answer to another payload",
        [change(lock(DIRECT), done(DIRECT)), ran(DIRECT, given=OTHER), answered("third", result="1")],
        [change(lock(DIRECT), done(DIRECT)), ran(DIRECT), answered("third", result="1")],
    ),
    "a function gets the answer that is kept": Rule(
        "P3 broken: got 2",
        done_by(FIRST, ran(DIRECT, output={"id": ID, "disposition": "REPLAYED", "result": "2"})),
        done_by(FIRST, ran(DIRECT, output={"id": ID, "disposition": "REPLAYED", "result": "1"})),
    ),
    "a function keeps its request": Rule(
        "P5 lost: has not kept its request",
        [by_direct(None, lock(DIRECT)), by_direct(lock(DIRECT), done(DIRECT)), ran(DIRECT, given=OTHER)],
        [by_direct(None, lock(DIRECT)), by_direct(lock(DIRECT), done(DIRECT)), ran(DIRECT)],
    ),
    "what a function was told there is is there": Rule(LOST, [ran(DIRECT)], done_by(FIRST, ran(DIRECT))),
    "what a function was asked for is in its lock": Rule(
        LOST,
        [by_direct(None, lock(DIRECT)), by_direct(lock(DIRECT), done(DIRECT)), ran(given=OTHER)],
        [by_direct(None, lock(DIRECT)), by_direct(lock(DIRECT), done(DIRECT)), ran()],
    ),
    "what a function was asked for is in the bucket": Rule(
        LOST,
        [by_direct(None, large(lock(DIRECT))), by_direct(large(lock(DIRECT)), done(DIRECT)), ran(given=OTHER)],
        [by_direct(None, large(lock(DIRECT))), by_direct(large(lock(DIRECT)), done(DIRECT)), ran()],
    ),
    "an execution's lock says nothing for it": Rule(
        LOST, [change(None, lock(SECOND)), change(lock(SECOND), done(SECOND)), ran()], done_by(FIRST)
    ),
    "who was refused in the direct lane sends it again": Rule(LOST, raised()[1:], raised()),
    "what may pass is told in the direct lane, too": Rule(
        LOST, [refused(error="Unavailable"), kept(SECOND)], [refused(DIRECT, error="Unavailable"), kept(DIRECT)]
    ),
    "once business logic has begun, a function raises nothing": Rule(
        "P5 broken: raised Unavailable after business logic had begun",
        raised(start(owner=DIRECT)),
        [start(owner=DIRECT), *done_by(DIRECT)],
    ),
    "that business logic has begun for another request is nothing to one": Rule(
        "P5 broken: raised PayloadMismatch after business logic had begun",
        raised(start(owner=DIRECT), error="PayloadMismatch"),
        raised(start(owner=NEXT_CALL), start(2, SECOND), error="PayloadMismatch"),
    ),
    "each request of a batch is kept by itself": Rule(
        "P5 lost: has not kept its request",
        [by_direct(None, lock(DIRECT)), *raised(by=NEXT_CALL, error="PayloadMismatch"), ran(DIRECT, given=OTHER)],
        [by_direct(None, lock(DIRECT)), *raised(by=NEXT_CALL, error="PayloadMismatch", given=OTHER), ran(DIRECT)],
    ),
    "an execution may fail after business logic has begun": Rule(
        "P5 broken: raised LockLost after business logic had begun",
        raised(start(owner=DIRECT), error="LockLost"),
        [start(), *done_by(SECOND), ran(status="FAILED", error="LockLost")],
    ),
}

RULES = {**STARTS, **ANSWERS, **REASONS, **ENDS, **IN_DIRECT_LANE}


@pytest.mark.parametrize("sentence", RULES)
def test_a_history_that_breaks_it_is_told_and_its_neighbour_is_not(sentence: str) -> None:
    RULES[sentence].check()


def test_who_sends_http_beside_something_else_hears_nothing_by_http() -> None:
    sent = [ran(given={"http": {}}), ran(SECOND, given={**REQUEST, "http": {}}), ran(FAST, given=[{"http": {}}])]
    assert by_http(sent) == {FIRST}


def test_a_request_that_a_trigger_passed_on_is_the_one_that_is_picked() -> None:
    once = {"operation": "charge-payment", "key": ["id"], "payload": ["charge"], "onCrash": "quarantine"}
    for key in ("7", 7):
        came = {"id": key, "charge": {"amount": 1}}
        for given in ({"event": came, "once": once}, [{"body": came, "once": once}]):
            assert id_of(given) == "default#charge-payment#7"
            assert (request_of(given)["payload"], request_of(given)["onCrash"]) == ({"amount": 1}, "quarantine")


def test_a_lock_in_the_direct_lane_is_a_start_unless_it_was_given_back() -> None:
    taken, third = lock(NEXT_CALL, 2, attempts=1), "direct:pay:request:third"
    happened = [
        by_direct(None, lock(DIRECT)),
        by_direct(failed(), taken, NEXT_CALL),
        by_direct(taken, {**taken, "leaseExpiresAt": 0, "attempts": 0}, NEXT_CALL),
        by_direct(lock(third, 3), done(third, 3), third),
        change(None, lock()),
        by_nobody(None, lock()),
        change(lock(), None, kind="operator"),
    ]
    assert [*unseen_starts(happened)] == [Start(ID, DIRECT, 1)]
