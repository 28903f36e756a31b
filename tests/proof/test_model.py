"""The lock protocol, explored: every promise kept in every state, and red as soon as an expression says otherwise."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from oncekit.proof.model.exploration import (
    AGAIN,
    CAREFUL,
    CASES,
    DEEP,
    OTHER,
    RETRY,
    ROOT,
    Case,
    Counterexample,
    explore,
    rules_of,
)
from oncekit.proof.model.services import EVENTS, INPUT
from oncekit.proof.model.world import FAST, FULL, Budget

# The fewest states that each case has had; fewer means that the model has lost something.
STATES: dict[str, int] = {
    "owners": 20_000,
    "errors": 10_000,
    "waiting": 8_000,
    "careful": 10_000,
    "large": 6_000,
    "expiry": 10_000,
    "late-errors": 25_000,
    "stale": 12_000,
    "operator": 5_000,
    "failed": 20_000,
    "unreadable": 5_000,
    "unreadable-recovery": 2_000,
    "recovery": 4_000,
    "fast": 6_000,
    "fast-careful": 5_000,
    "fast-recovery": 7_000,
}


@pytest.mark.parametrize("name", sorted(set(CASES) - DEEP))
def test_every_promise_is_kept_and_an_end_is_in_reach_from_every_state(name: str) -> None:
    with rules_of(CASES[name]) as rules:
        assert explore(rules, name).states >= STATES[name]


OPERATION, RECOVERY = "operation.asl.yaml", "recovery.asl.yaml"
Edit = tuple[str, str]


@dataclass(frozen=True)
class Fault:
    """What is changed in a definition, the case that sees it, and the promise that it breaks."""

    case: Case
    broken: str
    edits: tuple[Edit, ...]
    file: str = OPERATION


ACQUIRE = "' expiresAt < :now' %}"
TAKE_OVER = "(#owner = :theirs AND fence = :read AND leaseExpiresAt = :over)"
FINALIZE = "#owner = :me AND fence = :mine AND #status IN (:inProgress, :completed)"
QUARANTINE = " AND (#owner = :me OR leaseExpiresAt = :lease)"
RETRY_FAILED = "(#status = :failed AND #owner = :theirs AND fence = :read)"
REDRIVE = (
    "'IsResponseLarge', 'CacheResponse', 'Finalize', 'RecordFailure', 'KeepRequest', 'RecordQuarantine']\n          and"
)
ABOUT = '{ owner: "{% $record.owner.S %}", fence: "{% $record.fence.N %}", lease: "{% $record.leaseExpiresAt.N %}" }'
REFUSED = "Assign: { redriveRefused: true }\n        Next: WaitForNews"
GIVE_UP = f"""Assign:
          about: {ABOUT}
          failure: {{ name: OwnerCannotFinish, message: its redrive was refused }}
        Next: KeepRequest"""
KEPT = "REMOVE #error, #notKept, mayStartAgain, recoveries, finishedAt, expiresAt\n      ExpressionAttributeNames:\n"
FORGOTTEN = KEPT.replace("expiresAt", "expiresAt, #steps") + '        "#steps": steps\n'
THROTTLED = "Assign: { ownerStatus: UNKNOWN }\n        Next: IsOwnerAlive\n    Next: IsOwnerAlive\n\n  WaitForNews"
OVER = "$isOver := $item.status.S = 'IN_PROGRESS' and $number($item.leaseExpiresAt.N) < $floor($millis() / 1000)"
MINE = "{% $record.status.S = 'IN_PROGRESS' and $record.owner.S = $me and $not($ran) and $not($handedOver) %}"
ASKED_FOR = "'FAILED' and $request.onFailed = 'retry' and $not($request.function = '') and"
RELEASED = '"SET leaseExpiresAt = :zero, mayStartAgain = :true, attempts = :attempts, #error = :error"'
ONE, TWO = (RETRY,), (RETRY, RETRY)
ONLY_FAST = (FAST, FAST)

FAULTS = {
    "an answer expires a moment early": Fault(
        Case((RETRY, OTHER), Budget(2, expiries=1), instants=True), "P3", ((ACQUIRE, ACQUIRE.replace("<", "<=")),)
    ),
    "an execution takes the lock from itself when its first call comes late": Fault(
        Case(ONE, Budget(1, late=1)),
        "P1: a late call",
        ((ACQUIRE, ACQUIRE.replace(":now", ":now OR (#owner = :me AND #status = :inProgress)")),),
    ),
    "a lost acquisition is not recognised": Fault(Case(ONE, Budget(1, losses=1)), "P5", ((MINE, "{% false %}"),)),
    "a lock is taken over without its fence": Fault(CASES["losses"], "P1", ((TAKE_OVER, "(#owner = :theirs)"),)),
    "a lease is over too early": Fault(
        Case(TWO, Budget(2, crashes=1), instants=True), "P1", ((OVER, OVER.replace("<", "<=")),)
    ),
    "a redrive may lead back to business logic": Fault(
        CASES["careful-losses"], "P2", ((REDRIVE, REDRIVE.replace("]", ", 'BackOff']")),)
    ),
    "anybody finalizes": Fault(
        Case(TWO, Budget(2, expiries=1, late=1), late=frozenset({"Finalize"})),
        "P4",
        ((FINALIZE, "#status IN (:inProgress, :completed)"),),
    ),
    "quarantine looks away from the lease": Fault(
        Case(TWO, Budget(2, crashes=1, operators=1), unreadable=frozenset({EVENTS})),
        "P5: a live owner",
        ((QUARANTINE, ""),),
    ),
    "recovery's quarantine looks away from the lease": Fault(
        Case(ONE, Budget(1, crashes=1, operators=1), workers=1, unreadable=frozenset({INPUT})),
        "P5: a live owner",
        (("fence = :fence AND leaseExpiresAt = :lease", "fence = :fence"),),
        RECOVERY,
    ),
    "a redrive needs no claim, and one that is refused is believed": Fault(
        Case((RETRY, RETRY, RETRY), Budget(3, crashes=1)),
        "P5: a live owner",
        (("Next: ClaimRedrive", "Next: RedriveOwner"), (REFUSED, GIVE_UP)),
    ),
    "a redrive that was throttled counts as refused": Fault(
        Case(TWO, Budget(2, crashes=1, losses=1)),
        "P5: an owner was given up",
        (
            (
                THROTTLED,
                THROTTLED.replace("ownerStatus: UNKNOWN", "redriveRefused: true").replace(
                    "IsOwnerAlive", "WaitForNews", 1
                ),
            ),
        ),
    ),
    "a description is believed whose history has no end": Fault(
        Case((RETRY, RETRY, RETRY), Budget(3, crashes=1, stale=2)),
        "P5: a live owner",
        (("$history.ended = false", "false"),),
    ),
    "a decision is not looked for": Fault(
        Case(ONE, Budget(1, crashes=1, errors=1)),
        "P2: business logic was started again after it had decided",
        ((" or ($history.decided and $history.lastStep = 'ExecuteBusinessLogic')", ""),),
    ),
    "a start that never was is asked about": Fault(
        Case((CAREFUL,), Budget(1, crashes=1)),
        "P5",
        (
            (
                "$not($history.lastStep = 'BackOff') and $not($history.neverStarted)",
                "$not($history.lastStep = 'BackOff')",
            ),
        ),
    ),
    "a failure is tried again by anybody": Fault(
        Case(TWO, Budget(2, errors=1)), "P3", ((ASKED_FOR, ASKED_FOR.replace(" and $request.onFailed = 'retry'", "")),)
    ),
    "a failure is tried again without its fence": Fault(
        Case((AGAIN, AGAIN), Budget(2, errors=2, late=1), late=frozenset({"RetryFailed"})),
        "P1",
        ((RETRY_FAILED, "(#status = :failed)"),),
    ),
    "a failure that is tried again forgets its steps": Fault(
        Case((AGAIN, AGAIN), Budget(2, errors=1)),
        "P2: what steps",
        ((KEPT, FORGOTTEN),),
    ),
    "the fast lane keeps no request": Fault(
        Case(ONE, Budget(1), lanes=ONLY_FAST),
        "P5: an owner in the fast lane",
        (("'kept': '${Lane}' = 'full' ?", "'kept': true ?"),),
    ),
    "anybody's lock is released": Fault(
        Case(TWO, Budget(2, crashes=1, errors=1, late=1), late=frozenset({"ReleaseLock"}), lanes=(FAST, FULL), age=200),
        "P",
        (
            (
                'ConditionExpression: "#status = :inProgress AND #owner = :me AND (fence = :mine OR fence = :next)"\n'
                "      # Throttled",
                'ConditionExpression: "#status = :inProgress"\n      # Throttled',
            ),
        ),
    ),
    "a lock is released without a word that it may be started again": Fault(
        Case((CAREFUL, CAREFUL), Budget(2, errors=1), lanes=ONLY_FAST, age=200),
        "P",
        ((RELEASED, RELEASED.replace("mayStartAgain = :true", "mayStart = :true")),),
    ),
    "what was handed over is not started": Fault(
        Case(TWO, Budget(2, losses=1), lanes=ONLY_FAST, parameters={"FullLaneOperations": "charge"}),
        "P5: a request was acknowledged",
        (
            (
                "- Condition: \"{% $not($isStarted) and $not($record.status.S = 'IN_PROGRESS') %}\"",
                '- Condition: "{% false %}"',
            ),
        ),
    ),
    "recovery leaves what the fast lane left": Fault(
        Case(ONE, Budget(1, crashes=1), workers=1, lanes=ONLY_FAST),
        "P5",
        (("'SUCCEEDED', 'LEASE_OVER', 'UNREADABLE']", "'SUCCEEDED', 'UNREADABLE']"),),
        RECOVERY,
    ),
    "recovery tries a failure again": Fault(
        Case((AGAIN,), Budget(1, crashes=1, errors=1, operators=1), workers=1),
        "P3",
        (
            (
                "and\n          $not($contains($states.context.Execution.Name, "
                "/^((recover|handover|retry)-[0-9a-f]{32}-[0-9a-f]{8}-[0-9]+(-[0-9a-f]+)?|again-[0-9a-f]{40})$/)) %}",
                "%}",
            ),
        ),
    ),
}


def changed(root: Path, fault: Fault) -> Path:
    """A copy of the definitions with the texts of one of them replaced."""
    shutil.copy(ROOT / "template.yaml", root)
    shutil.copytree(ROOT / "statemachine", root / "statemachine")
    definition = root / "statemachine" / fault.file
    text = definition.read_text()
    for old, new in fault.edits:
        assert text.count(old) == 1, f"{old!r} is there {text.count(old)} times"
        text = text.replace(old, new)
    definition.write_text(text)
    return root


@pytest.mark.parametrize("name", FAULTS)
def test_model_goes_red_when_a_definition_changes(name: str, tmp_path: Path) -> None:
    fault = FAULTS[name]
    with rules_of(fault.case, changed(tmp_path, fault)) as rules, pytest.raises(Counterexample, match=fault.broken):
        explore(rules)
