"""The lock protocol, explored: every promise kept in every state, and red as soon as an expression says otherwise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from once import direct

from oncekit.proof.model import operators
from oncekit.proof.model.cases import (
    ACQUIRE,
    KEEP_OPEN,
    LONG,
    NEXT,
    OTHER,
    PENDING,
    QUARANTINE,
    QUICK,
    RETRY,
    WAIT,
    A,
    Case,
    Edit,
    rules_of,
)
from oncekit.proof.model.exploration import Counterexample, explore
from oncekit.proof.model.machine import NOW
from oncekit.proof.model.world import Budget
from oncekit.stack import decisions, records
from oncekit.stack.records import Record
from oncekit.stack.stack import Stack


@pytest.mark.parametrize("name", QUICK)
def test_every_promise_is_kept_and_a_good_end_is_in_reach_from_every_state(name: str) -> None:
    with rules_of(QUICK[name]) as rules:
        assert explore(rules).states > 100


BOTH = "operation fast"


@dataclass(frozen=True)
class Mutant:
    """What is changed in the definitions, the case that sees it, and the promise that it breaks."""

    case: Case
    broken: str
    edits: tuple[Edit, ...]
    first: tuple[str, ...] = ()
    """The moves with which it begins, where the way is long."""


def edit(state: str, old: str, new: str, machines: str = BOTH) -> tuple[Edit, ...]:
    return (Edit(machines, state, old, new),)


NOT_PENDING = "attribute_not_exists(pendingSince)"
TWO_RETRY = (RETRY, RETRY)
OF_THIS_RECORD = "$not($contains($states.context.Execution.Name, $inName))"
LATE_NEXT_FENCE = Case((PENDING,), "F", Budget(late=1, errors=1), NEXT)
MUTANTS = {
    # The first wordings of the design differed from the last one in these; each one lost a promise.
    "my next fence needs the lease that I know": Mutant(
        Case((A,), "F", Budget(errors=1)),
        "P5: an operator is asked",
        edit(
            "TakeNextFence",
            "fence IN (:read, :next) AND",
            "((fence = :read AND leaseExpiresAt = :lease) OR fence = :next) AND",
            "operation",
        ),
    ),
    "recovery tries a failure again": Mutant(
        Case((RETRY,), "F", Budget(errors=1)),
        "P[57]",
        (
            Edit("operation", "ReadRecord", "$not($seen or $isRecovery)", "$not($seen)"),
            *edit("ReceiveRequest", "$lookup($r, 'payload') };", "$lookup($r, 'payload'), 'onFailed': $r.onFailed };"),
        ),
    ),
    "a failure is tried again for everybody": Mutant(
        Case((A, A), "FF", Budget(errors=1)),
        "P7: a failure was tried again by somebody",
        edit("ReadRecord", "$request.onFailed = 'retry' and ", "", "operation"),
    ),
    "a failure forgets its steps": Mutant(
        Case(TWO_RETRY, "FF", Budget(errors=1)), "P2", edit("RecordFailure", "REMOVE ", "REMOVE steps, ")
    ),
    "the fast lane tries a failure again that it did not know": Mutant(
        Case(TWO_RETRY, "XX", Budget(errors=1)),
        "P7: a failure",
        edit("ReadRecord", "$toMillis($item.finishedAt.S) < $startedAt", "true", "fast"),
    ),
    "what is handed over comes when it starts": Mutant(
        Case(TWO_RETRY, "FX", Budget(errors=1), full_lane_operations="charge"),
        "P7: a failure",
        edit("HandOver", "$toMillis($states.context.Execution.StartTime)", "$millis()", "fast"),
    ),
    "a failure is tried again by its fence alone": Mutant(
        Case(TWO_RETRY, "FF", Budget(errors=2, late=1, expiries=2), ACQUIRE),
        "P7: a failure",
        edit("AcquireLock", "#owner = :theirs AND ", ""),
        (
            "order-0 arrives",
            "order-0: AcquireLock",
            "business logic starts",
            "PermanentError",
            "order-0: RecordFailure",
            "order-1 arrives",
            "order-1: AcquireLock",
            "order-1: ReadRecord",
            "order-1: AcquireLock: on its way",
            "the record expires",
            "the record expires",
            "TTL deletes",
        ),
    ),
    "a free id is acquired as if it had failed": Mutant(
        Case(TWO_RETRY, "FF", Budget(errors=1, expiries=1)),
        "P2: a new life",
        edit("AcquireLock", "AND expiresAt >= :now", "OR attribute_not_exists(id) OR expiresAt < :now"),
    ),
    "what was handed over is acquired here, too": Mutant(
        Case((WAIT,), "X", Budget(losses=1)),
        "P7: a request that was handed over",
        edit("ReadRecord", "$handedOver and $not($seen) ?", "false ?", "fast"),
    ),
    "who has seen the lock takes it after its release": Mutant(
        Case((A, WAIT), "FF", Budget(crashes=1, operators=1)),
        "P5: business logic was started after",
        edit("ExistingStatus", "($isRecovery or $seen)", "$isRecovery", "operation"),
    ),
    "a recovery refuses what was accepted": Mutant(
        Case((A, OTHER), "FF", Budget(crashes=1, operators=1)),
        "P5: a request that was accepted",
        edit("ExistingStatus", "($isRecovery or $seen)", "$seen", "operation"),
    ),
    "what ran is handed over": Mutant(
        Case((A,), "X", Budget(losses=2, errors=1)),
        "P2: a request is handed over",
        edit("ReadRecord", "$seen or $handedOver", "$handedOver", "fast"),
    ),
    "a lock that I have released is mine": Mutant(
        Case((WAIT,), "X", Budget(errors=1)),
        "P5: an operator is asked",
        edit("ReadRecord", " and $number($item.leaseExpiresAt.N) > 0", "", "fast")
        + edit("ReadRecord", "$isMine and $not($handedOver)", "$isMine", "fast"),
    ),
    "what was released is handed over as a request of its own": Mutant(
        Case((A,), "X", Budget(errors=1, operators=1)),
        "P5: business logic was started after an operator",
        edit("HandOver", "$released ?", "false ?", "fast"),
        (
            "order-0 arrives",
            "order-0: ReadRecord",
            "order-0: AcquireLock",
            "TooManyRequests",
            "order-0: ReleaseLock",
            "once release",
        ),
    ),
    "who has released a lock does so whatever became of it": Mutant(
        QUICK["late release, given up"],
        "P3: a record that was QUARANTINED",
        edit("ReleaseLock", "#status = :inProgress AND", "(#status = :inProgress OR fence = :mine) AND", "fast"),
    ),
    "the fast lane tries again what has begun": Mutant(
        Case((A,), "X", Budget(errors=1)),
        "P2: business logic was started twice",
        edit("ExecuteBusinessLogic", '"Catch":', '"Retry": [{"ErrorEquals": ["States.ALL"]}], "Catch":', "fast"),
    ),
    "a recovery acts on whatever record is there": Mutant(
        QUICK["recovery of another payload"], "P6", edit("ReadRecord", OF_THIS_RECORD, "false", "operation")
    ),
    "a recovery acts on whatever record has the fence in its name": Mutant(
        Case((A, OTHER), "FF", Budget(crashes=2, operators=1, expiries=1)),
        "P6",
        edit(
            "ReadRecord",
            OF_THIS_RECORD,
            "$item.owner.S != $me and $not($contains($states.context.Execution.Name, '-' & $item.fence.N & '-'))",
            "operation",
        ),
    ),
    # Work that goes on elsewhere.
    "a late next fence of mine needs a lease alone": Mutant(
        LATE_NEXT_FENCE, "P5: an owner ended", edit("TakeNextFence", NOT_PENDING, "leaseExpiresAt > :read", "operation")
    ),
    "a late next fence of mine needs nothing else": Mutant(
        LATE_NEXT_FENCE, "P5: an owner ended", edit("TakeNextFence", NOT_PENDING, "attribute_exists(id)", "operation")
    ),
    "a new attempt leaves it pending": Mutant(
        Case((PENDING,), "F", Budget()),
        "P5: business logic was started, and its record says",
        edit("TakeNextFence", "REMOVE pendingSince", "REMOVE resultRef", "operation"),
    ),
    "business logic starts after a wait without a look": Mutant(
        Case((PENDING,), "F", Budget(tickets=1)),
        "P1: business logic was started without the lock",
        (
            Edit("operation", "BackOff", '"Next": "ReadRecord"', '"Next": "ExecuteBusinessLogic"'),
            Edit(
                "operation",
                "TakeNextFence",
                '"Assign": {"ran": false}',
                '"Assign": {"ran": false, "replyToken": "token", "lock": "{% $merge([$lock, '
                "{'owner': $me, 'fence': $lock.fence + 1, 'attempts': $next.attempts}]) %}\"}",
            ),
        ),
    ),
    "anybody keeps it open": Mutant(
        Case((PENDING,), "F", Budget(late=1), KEEP_OPEN),
        "P4: somebody wrote to the lock of another",
        edit("KeepOpen", "#owner = :me AND fence = :mine", "(#owner = :me OR fence >= :mine)"),
    ),
    "a try that is another one keeps its ticket": Mutant(
        Case((RETRY | PENDING, RETRY | PENDING), "FF", Budget(tickets=2)),
        "P3: work elsewhere has changed",
        edit("AcquireLock", "acquiredAt = :at", "acquiredAt = if_not_exists(acquiredAt, :at)"),
    ),
    "what comes after a release keeps the ticket": Mutant(
        Case((PENDING, PENDING), "FF", Budget(tickets=1, operators=1)),
        "P3: work elsewhere has changed",
        edit("AcquireLock", "acquiredAt = :at", "acquiredAt = if_not_exists(acquiredAt, :at)"),
    ),
    "a ticket leaves its owner the lock": Mutant(
        Case((PENDING,), "F", Budget(tickets=1)),
        "P4: work elsewhere has ended an operation, and left",
        edit("complete", "#owner = :me, fence = :next, ", "", "ticket"),
    ),
    "a ticket leaves it pending": Mutant(
        Case((PENDING,), "X", Budget(tickets=1)), "P3: a closed record", edit("fail", " pendingSince,", "", "ticket")
    ),
    "a ticket ends nothing that is quarantined": Mutant(
        QUICK["pending, quarantine"],
        "P5: work elsewhere has ended",
        edit("complete", "#status IN (:inProgress, :quarantined)", "#status IN (:inProgress)", "ticket"),
    ),
    "a ticket ends only what is pending": Mutant(
        Case((PENDING,), "F", Budget(tickets=1)),
        "P5: work elsewhere has ended",
        edit("fail", "AND fence = :read", "AND fence = :read AND attribute_exists(pendingSince)", "ticket"),
    ),
    "a ticket forgets the steps of what failed": Mutant(
        Case((PENDING,), "F", Budget(tickets=1, errors=1)),
        "P2: what steps have done",
        edit("fail", " pendingSince,", " pendingSince, steps,", "ticket"),
    ),
    "a heartbeat revives what was released": Mutant(
        Case((QUARANTINE | PENDING,), "F", Budget(extends=1, operators=1)),
        "P1: work elsewhere has revived",
        edit("extend", " AND attribute_exists(pendingSince)", "", "ticket"),
    ),
    "a heartbeat makes a lease shorter": Mutant(
        Case((PENDING,), "X", Budget(extends=1)),
        "P1: work elsewhere has revived a lock, or made its lease shorter",
        edit("extend", "leaseExpiresAt < :until", "leaseExpiresAt <> :until", "ticket"),
    ),
    # Calls of the library in the direct lane.
    "a function ends an operation whatever became of its lock": Mutant(
        Case((A,), "D", Budget(freezes=1)),
        "P4: somebody wrote to the lock",
        edit("Finalize", "#owner = :me AND fence = :mine AND ", "", "direct"),
    ),
    "a function takes the lock of a live one": Mutant(
        Case((A, A), "DD", Budget()), "P1", edit("AcquireLock", "OR expiresAt < :now", "OR fence > :zero", "direct")
    ),
    "a function takes what expires this second": Mutant(
        Case((A, OTHER), "DD", Budget(expiries=1)),
        "P3",
        edit("AcquireLock", "OR expiresAt < :now", "OR expiresAt <= :now", "direct"),
    ),
    "a failure in a function forgets its steps": Mutant(
        Case(TWO_RETRY, "DF", Budget(errors=1)),
        "P2: what steps",
        edit("RecordFailure", "REMOVE ", "REMOVE steps, ", "direct"),
    ),
    "a function that has stood still keeps it open": Mutant(
        Case((PENDING,), "D", Budget(freezes=1)),
        "P4: somebody wrote to the lock",
        edit("KeepOpen", "#owner = :me AND fence = :mine", "fence >= :mine", "direct"),
    ),
    "a function that tries again keeps the ticket": Mutant(
        Case((RETRY | PENDING, RETRY | PENDING), "DD", Budget(tickets=2)),
        "P3: work elsewhere has changed",
        edit("AcquireLock", "acquiredAt = :at", "acquiredAt = if_not_exists(acquiredAt, :at)", "direct"),
    ),
    # And what was right from the start.
    "a recovery takes a free lock": Mutant(
        Case((A,), "F", Budget(crashes=1, operators=1)),
        "P5: a recovery took",
        (
            *edit("AcquireLock", "$isRecovery or ", "", "operation"),
            *edit("ExistingStatus", "($isRecovery or $seen)", "$seen", "operation"),
        ),
    ),
    "an execution takes the lock from itself": Mutant(
        Case((A,), "F", Budget(late=1), ACQUIRE),
        "P1: a late call",
        edit("AcquireLock", "OR expiresAt < :now", "OR expiresAt < :now OR #owner = :me"),
    ),
    "an answer expires a moment early": Mutant(
        Case((A, OTHER), "FF", Budget(expiries=1)),
        "P3",
        edit("AcquireLock", "OR expiresAt < :now", "OR expiresAt <= :now"),
    ),
    "anybody finalizes": Mutant(
        Case((A,), "F", Budget(crashes=1, late=1), frozenset({"Finalize"})),
        "P",
        edit("Finalize", "#owner = :me AND fence = :mine AND ", ""),
    ),
    "a live owner is replaced": Mutant(
        Case((A,), "F", Budget()), "P1: the lock of a live", edit("CheckOwner", ": 'RUNNING'", ": 'ENDED'", "operation")
    ),
    "quarantine forgets the request": Mutant(
        Case((QUARANTINE | LONG,), "F", Budget(crashes=1)),
        "P5: an open record",
        edit("RecordQuarantine", "openShard = :openShard", "openShard = :openShard REMOVE requestRef"),
    ),
    "a large request is not kept": Mutant(
        QUICK["large"],
        "P5",
        edit("ExistingStatus", "$kept.isLarge and $not($isKept)", "false")
        + edit("AcquireLock", "($kept.isLarge and $not($isKept))", "false", "operation"),
    ),
    "who has seen a lock takes it when its request was forgotten": Mutant(
        Case((A, WAIT), "FF", Budget(crashes=1, forgets=1)),
        "P5: business logic was started after an operator",
        edit("ExistingStatus", "($isRecovery or $seen)", "$isRecovery", "operation"),
    ),
    "the sweep leaves small requests": Mutant(
        Case((A,), "F", Budget(crashes=1)), "P5: no good end", edit("WhereIsRequest", "$text != ''", "false", "sweep")
    ),
    "a released lock may not be started again": Mutant(
        Case((QUARANTINE,), "X", Budget(errors=1)),
        "P5: a lock that was given back",
        edit("IsOwnerAlive", " and $number($record.leaseExpiresAt.N) > 0", "", "operation"),
    ),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_model_goes_red_when_a_definition_changes(name: str) -> None:
    mutant = MUTANTS[name]
    with rules_of(mutant.case, mutant.edits) as rules, pytest.raises(Counterexample, match=mutant.broken):
        explore(rules, mutant.first)


def test_model_goes_red_when_a_function_does_not_look_at_its_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    run = direct._Lane._run

    def looks_not(lane: Any, record: Any) -> Any:
        return run(lane, record | {"leaseExpiresAt": {"N": str(NOW + 60)}})

    monkeypatch.setattr(direct._Lane, "_run", looks_not)
    with (
        rules_of(Case((A,), "D", Budget(freezes=1))) as rules,
        pytest.raises(Counterexample, match="P1: business logic was started without the lock"),
    ):
        explore(rules)


def test_model_goes_red_when_an_operators_retry_is_no_permission(monkeypatch: pytest.MonkeyPatch) -> None:
    def write(stack: Stack, shown: Record, sets: dict[str, Any], removes: Any) -> None:
        records.write(stack, shown, {name: sets[name] or int(name == "leaseExpiresAt") for name in sets}, removes)

    monkeypatch.setattr(decisions, "write", write)
    operators.done.cache_clear()
    case = Case((QUARANTINE,), "F", Budget(errors=1, operators=1))
    with rules_of(case) as rules, pytest.raises(Counterexample, match="P5: a lock that was given back"):
        explore(
            rules,
            ("order-0 arrives", "AcquireLock", "business logic starts", "answer is lost", "RecordQuarantine", "retry"),
        )
    operators.done.cache_clear()
