"""The lock protocol, explored: every promise kept in every state, and red as soon as an expression says otherwise."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from proof.model import CASES, DEEP, ROOT, Counterexample, explore, rules_of

# The fewest states that each case has had; fewer means that the model has lost something.
STATES = {
    "owners": 5_000,
    "errors": 10_000,
    "waiting": 3_000,
    "careful": 10_000,
    "large": 2_000,
    "expiry": 10_000,
    "express": 10_000,
    "recovery": 20_000,
    "recovery-duplicate": 40_000,
    "recovery-twice": 20_000,
}


@pytest.mark.parametrize("name", sorted(set(CASES) - DEEP))
def test_every_promise_is_kept_and_an_end_is_in_reach_from_every_state(name: str) -> None:
    with rules_of(CASES[name]) as rules:
        assert explore(rules, name).states >= STATES[name]


ACQUIRE = "attribute_not_exists(id) OR expiresAt < :now OR (#owner = :me AND #status = :inProgress)"
TAKE_OVER = "(#owner = :theirs AND fence = :read AND leaseExpiresAt = :over)"
FINALIZE = "#owner = :me AND fence = :mine AND #status IN (:inProgress, :completed)"
REDRIVE = (
    "'IsResponseLarge', 'CacheResponse', 'Finalize', 'RecordFailure', 'KeepRequest', 'RecordQuarantine']\n          and"
)

# What is changed in the definitions, the case that sees it, and the promise that it breaks.
CHANGES = {
    "an answer expires a moment early": ("expiry", ACQUIRE, ACQUIRE.replace("<", "<="), "P3"),
    "a lost acquisition is not recognised": ("losses", ACQUIRE, ACQUIRE.partition(" OR (#owner")[0], "P5"),
    "a lock is taken over without its fence": ("losses", TAKE_OVER, "(#owner = :theirs)", "P1"),
    "a lease is over too early": (
        "recovery-duplicate",
        "{% $record.status.S = 'IN_PROGRESS' and $number($record.leaseExpiresAt.N) < $floor($millis() / 1000) %}",
        "{% $record.status.S = 'IN_PROGRESS' and $number($record.leaseExpiresAt.N) <= $floor($millis() / 1000) %}",
        "P1",
    ),
    "a take-over looks away from the lease": ("express-errors", " AND leaseExpiresAt = :over", "", "P1"),
    "a redrive may lead back to business logic": ("careful", REDRIVE, REDRIVE.replace("]", ", 'BackOff']"), "P2"),
    "anybody finalizes": ("express", FINALIZE, "#status IN (:inProgress, :completed)", "P4"),
}


def changed(root: Path, old: str, new: str) -> Path:
    """A copy of the definitions with one text of the operation machine replaced."""
    shutil.copy(ROOT / "template.yaml", root)
    shutil.copytree(ROOT / "statemachine", root / "statemachine")
    definition = root / "statemachine" / "operation.asl.yaml"
    text = definition.read_text()
    assert text.count(old) == 1, f"{old!r} is there {text.count(old)} times"
    definition.write_text(text.replace(old, new))
    return root


@pytest.mark.parametrize("change", CHANGES)
def test_model_goes_red_when_a_definition_changes(change: str, tmp_path: Path) -> None:
    case, old, new, promise = CHANGES[change]
    with (
        rules_of(CASES[case], changed(tmp_path, old, new)) as rules,
        pytest.raises(Counterexample, match=promise),
    ):
        explore(rules)
