"""What is explored, by name."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from oncekit.local.deployment.deploy import rendered_definitions
from oncekit.proof.model.business import ELSEWHERE
from oncekit.proof.model.direct import Library
from oncekit.proof.model.machine import Machine
from oncekit.proof.model.moves import Rules
from oncekit.proof.model.record import table
from oncekit.proof.model.world import DIRECT, FAST, FULL, Budget

ROOT = Path(__file__).parents[3]
MAX_ATTEMPTS = 3
DEFAULT_LIMIT, INLINE_LIMIT = "$number('4096')", 1350
"""Bytes, with 1,200 set aside: a LONG request does not fit into the record."""

Policy = dict[str, str]
A: Policy = {}
QUARANTINE: Policy = {"onCrash": "quarantine"}
RETRY: Policy = {"onFailed": "retry"}
WAIT: Policy = {"onConflict": "wait"}
WAIT_RETRY = WAIT | RETRY
REJECT: Policy = {"onConflict": "reject"}
OTHER: Policy = {"payload": "other"}
LONG: Policy = {"payload": "large" * 40}
PENDING: Policy = {"payload": "elsewhere"}


@dataclass(frozen=True)
class Case:
    requests: tuple[Policy, ...]
    lanes: str
    """Where each request arrives: F, the full lane, X, the fast one (Express), or D, the direct one."""
    budget: Budget
    late: frozenset[str] = frozenset()
    full_lane_operations: str = ""


def request(policy: Policy) -> str:
    """The input of an execution."""
    payload = {"n": policy.get("payload", "1")} | (ELSEWHERE if PENDING.items() <= policy.items() else {})
    given = {"operation": "charge", "idempotencyKey": "k", "payload": payload}
    return json.dumps(given | {name: value for name, value in policy.items() if name.startswith("on")}, sort_keys=True)


class Edit(NamedTuple):
    """A text of a state's definition, or of a call of the library, that is another one in a mutant."""

    machines: str
    """Among operation, fast and sweep; or `ticket`, or `direct`."""
    state: str
    """Of a ticket's writes: complete, fail or extend."""
    old: str
    new: str

    def of(self, definition: dict[str, Any]) -> dict[str, Any]:
        before = json.dumps(definition["States"][self.state])
        # What has a quotation mark is JSON already: no expression needs one.
        old, new = (each if '"' in each else json.dumps(each)[1:-1] for each in (self.old, self.new))
        assert old in before, f"{self.state} has no {self.old!r}: {before}"
        return definition | {"States": definition["States"] | {self.state: json.loads(before.replace(old, new))}}


ACQUIRE, NEXT, RELEASE, KEEP_OPEN = (
    frozenset({each}) for each in ("AcquireLock", "TakeNextFence", "ReleaseLock", "KeepOpen")
)

QUICK: Mapping[str, Case] = {
    "alone": Case((A,), "F", Budget(losses=1, errors=1)),
    "alone, fast": Case((A,), "X", Budget(losses=1, errors=1, hurry=1)),
    "duplicates": Case((A, A), "FX", Budget(crashes=1)),
    "duplicates, fast": Case((A, REJECT), "XX", Budget(crashes=1, losses=1)),
    "another payload": Case((A, OTHER), "XF", Budget(crashes=1, operators=1)),
    "three crashes": Case((A,), "F", Budget(crashes=3)),
    "quarantine": Case((QUARANTINE,), "F", Budget(crashes=1, errors=1)),
    "quarantine, fast": Case((QUARANTINE,), "X", Budget(crashes=1, errors=1, hurry=1)),
    "retry by an operator": Case((QUARANTINE,), "F", Budget(crashes=2, operators=2)),
    "retry by an operator, fast": Case((QUARANTINE,), "X", Budget(crashes=2, operators=2)),
    "released": Case((A, WAIT), "FX", Budget(crashes=1, operators=1)),
    "released, fast": Case((A, WAIT), "XX", Budget(crashes=1, operators=1)),
    "released beside the full lane": Case((A, WAIT), "XF", Budget(crashes=1, operators=1)),
    "two buckets": Case((A,), "F", Budget(crashes=1, operators=1, buckets=1)),
    "old descriptions": Case((A, A), "FF", Budget(crashes=1, stale=1)),
    "waiting": Case((A, WAIT), "FF", Budget(stale=1)),
    "an owner that cannot be asked, waiting": Case((A, WAIT), "FF", Budget(losses=1)),
    "an owner that cannot be asked, reject": Case((A, REJECT), "FF", Budget(losses=1)),
    "handed over": Case((WAIT,), "X", Budget(crashes=1, losses=1), full_lane_operations="charge"),
    "large": Case((LONG, LONG), "FX", Budget(crashes=1)),
    "large and gone": Case((LONG,), "X", Budget(crashes=1, objects=1, operators=1)),
    "failed": Case((RETRY, RETRY), "FX", Budget(errors=1)),
    "failed, fast": Case((RETRY, RETRY), "XX", Budget(errors=1)),
    "failed, by hand": Case((QUARANTINE, RETRY), "FF", Budget(crashes=1, operators=1)),
    "two runs of one execution": Case((RETRY,), "X", Budget(doubles=1, errors=1)),
    "expiry": Case((RETRY, OTHER), "FX", Budget(errors=1, expiries=2)),
    "an answer that is lost and expires": Case((A, OTHER), "FF", Budget(losses=1, expiries=1)),
    "late acquisition": Case((A,), "F", Budget(late=1, crashes=1, operators=1), ACQUIRE),
    "late acquisition, fast": Case((A,), "X", Budget(late=1, crashes=1, operators=1), ACQUIRE),
    "late acquisition, TTL": Case((A,), "F", Budget(late=1, expiries=2, crashes=1), ACQUIRE),
    "late take-over": Case((A,), "F", Budget(late=1, crashes=2, operators=1), NEXT),
    "late next fence": Case((A,), "F", Budget(late=1, errors=1, crashes=1, operators=1), NEXT),
    "forgotten": Case((A, WAIT), "FX", Budget(crashes=1, forgets=1)),
    "forgotten, large": Case((LONG,), "F", Budget(crashes=1, forgets=1)),
    "forgotten, failed": Case((RETRY, RETRY), "FX", Budget(errors=1, forgets=1)),
    "late acquisition, forgotten": Case((A,), "F", Budget(late=1, crashes=1, forgets=1), ACQUIRE),
    "late release": Case((A,), "X", Budget(late=1, errors=1, crashes=1, operators=1), RELEASE),
    "late release, given up": Case((QUARANTINE,), "X", Budget(late=1, errors=1, losses=1), RELEASE),
    "recovery of another payload": Case((A, OTHER), "FF", Budget(crashes=2, operators=1)),
    "pending": Case((PENDING,), "F", Budget(tickets=2, errors=1)),
    "pending, fast": Case((PENDING,), "X", Budget(tickets=2, errors=1)),
    "pending, quarantine": Case((QUARANTINE | PENDING,), "F", Budget(tickets=1, crashes=1, operators=1)),
    "pending, quarantine, fast": Case((QUARANTINE | PENDING,), "X", Budget(tickets=1, crashes=1, operators=1)),
    "pending, extended": Case((PENDING,), "F", Budget(extends=1, errors=1, crashes=1)),
    "pending, extended, fast": Case((QUARANTINE | PENDING,), "X", Budget(extends=1, errors=1, operators=1)),
    "pending, answers that are lost": Case((PENDING,), "X", Budget(tickets=1, losses=2)),
    "pending, late": Case((PENDING,), "F", Budget(tickets=1, late=1, crashes=1), KEEP_OPEN),
    "pending, late next fence": Case((PENDING,), "F", Budget(tickets=1, late=1, errors=1), NEXT),
    "pending, late release": Case((PENDING,), "X", Budget(tickets=1, late=1, errors=1), RELEASE),
    "pending, tried again": Case((RETRY | PENDING, RETRY | PENDING), "FX", Budget(tickets=2)),
    "pending, released": Case((PENDING, PENDING), "XF", Budget(tickets=1, operators=1)),
    "pending, forgotten": Case((PENDING,), "X", Budget(tickets=1, forgets=1)),
    "pending, expired": Case((PENDING, OTHER), "FX", Budget(tickets=2, expiries=2)),
    "direct": Case((A,), "D", Budget(losses=1, errors=1, crashes=1)),
    "direct, stands still": Case((A,), "D", Budget(freezes=1, crashes=1, losses=1)),
    "direct, quarantine": Case((QUARANTINE,), "D", Budget(crashes=1, errors=1, freezes=1)),
    "direct and full": Case((A, A), "DF", Budget(freezes=1, losses=1)),
    "direct and fast": Case((RETRY, RETRY), "DX", Budget(errors=1, freezes=1)),
    "direct, twice": Case((RETRY, RETRY), "DD", Budget(errors=1, losses=1)),
    "direct, another payload": Case((A, OTHER), "XD", Budget(crashes=1, operators=1)),
    "direct, released": Case((A, A), "DF", Budget(freezes=1, operators=1)),
    "direct, late acquisition": Case((A,), "D", Budget(late=1, crashes=1, freezes=1), ACQUIRE),
    "direct, late release": Case((A,), "D", Budget(late=1, errors=1, crashes=1), RELEASE),
    "direct, large": Case((LONG,), "D", Budget(freezes=1, crashes=1)),
    "direct, pending": Case((PENDING,), "D", Budget(tickets=2, errors=1, freezes=1)),
    "direct, pending, late": Case((PENDING,), "D", Budget(tickets=1, late=1, crashes=1), KEEP_OPEN),
    "direct, expiry": Case((RETRY, OTHER), "DD", Budget(errors=1, expiries=2)),
}
"""Seconds each, in the tests of the proof. What they are about is in their names; the rest comes with `DEEP`."""


def _deep() -> Iterator[tuple[str, Case]]:
    """One request under faults in threes, and two of every kind in every pair of lanes under faults in pairs."""
    alone = (
        Budget(crashes=1, losses=1, late=1),
        Budget(crashes=1, errors=2),
        Budget(losses=1, late=1, errors=1, hurry=1),
        Budget(crashes=1, operators=2, buckets=1),
        Budget(crashes=2, stale=1, late=1),
        Budget(late=1, errors=2, hurry=1),
        Budget(crashes=1, errors=1, operators=1, late=1),
    )
    for policy in (A, QUARANTINE, RETRY, WAIT, LONG):
        for lane in "FX":
            for budget in alone:
                yield _name(budget, lane, policy), Case((policy,), lane, budget)
    elsewhere = (
        Budget(tickets=2, crashes=1, errors=1),
        Budget(tickets=1, losses=1, late=1),
        Budget(tickets=1, extends=1, operators=1, crashes=1),
        Budget(tickets=1, errors=1, late=1),
        Budget(tickets=1, stale=1, crashes=1, buckets=1),
    )
    for policy in (PENDING, PENDING | QUARANTINE):
        for lane in "FX":
            for budget in elsewhere:
                yield _name(budget, lane, policy), Case((policy,), lane, budget)
    together = (
        Budget(crashes=1, losses=1),
        Budget(crashes=1, late=1),
        Budget(errors=1, hurry=1),
        Budget(crashes=1, operators=1),
        Budget(errors=1, operators=1),
        Budget(errors=1, expiries=2),
        Budget(errors=1, doubles=1),
    )
    for policies in ((RETRY, RETRY), (QUARANTINE | RETRY, QUARANTINE), (A, OTHER), (A, WAIT_RETRY)):
        for lanes in ("FF", "FX", "XF", "XX"):
            for budget in together:
                if "X" in lanes or not budget.doubles:
                    yield _name(budget, lanes, *policies), Case(policies, lanes, budget)
    both_elsewhere = (
        Budget(tickets=2, errors=1),
        Budget(tickets=1, crashes=1),
        Budget(tickets=1, late=1),
        Budget(tickets=1, operators=1),
        Budget(tickets=1, expiries=2),
        Budget(tickets=1, doubles=1),
        Budget(extends=1, crashes=1),
    )
    for policies in ((PENDING | RETRY, PENDING | RETRY), (PENDING | QUARANTINE, PENDING | WAIT)):
        for lanes in ("FF", "FX", "XF", "XX"):
            for budget in both_elsewhere:
                if "X" in lanes or not budget.doubles:
                    yield _name(budget, lanes, *policies), Case(policies, lanes, budget)
    yield from _deep_in_direct_lane()
    yield "handed over, and a duplicate", Case((WAIT, A), "XF", Budget(crashes=1), full_lane_operations="charge")
    yield "three requests", Case((RETRY, RETRY, RETRY), "FXF", Budget(errors=1))
    again = Case((RETRY, RETRY), "FF", Budget(late=1, errors=2, expiries=2), ACQUIRE)
    yield "late acquisition of a failure, TTL", again


def _deep_in_direct_lane() -> Iterator[tuple[str, Case]]:
    """The same, with sandboxes that stand still."""
    alone = (
        Budget(crashes=1, losses=1, late=1),
        Budget(crashes=1, errors=2),
        Budget(freezes=1, losses=1, late=1),
        Budget(freezes=1, crashes=1, operators=1),
        Budget(freezes=1, errors=1, late=1),
    )
    elsewhere = (
        Budget(freezes=1, tickets=1, operators=1),
        Budget(freezes=1, tickets=1, late=1),
        Budget(tickets=2, crashes=1, errors=1),
    )
    for policy in (A, QUARANTINE, RETRY, LONG, PENDING):
        for budget in elsewhere if policy is PENDING else alone:
            yield _name(budget, "D", policy), Case((policy,), "D", budget)
    together = (
        Budget(freezes=1, crashes=1),
        Budget(freezes=1, late=1),
        Budget(freezes=1, operators=1),
        Budget(errors=1, expiries=2),
    )
    for policies in ((RETRY, RETRY), (QUARANTINE | RETRY, QUARANTINE), (A, OTHER)):
        for lanes in ("DD", "DF", "FD", "DX", "XD"):
            for budget in together:
                yield _name(budget, lanes, *policies), Case(policies, lanes, budget)


def _name(budget: Budget, lanes: str, *policies: Policy) -> str:
    faults = ", ".join(f"{number} {name}" for name, number in budget._asdict().items() if number)
    asked = " + ".join("-".join(each.values())[:20].replace("large" * 4, "large") or "plain" for each in policies)
    return f"{lanes} {asked}: {faults}"


DEEP: Mapping[str, Case] = dict(_deep())
CASES: Mapping[str, Case] = {**QUICK, **DEEP}


@functools.lru_cache(20)
def _machine(definition: str) -> Machine:
    """Of a definition as JSON: cases of the same one share what it has answered."""
    return Machine(json.loads(definition))


@functools.lru_cache(20)
def _definitions(full_lane_operations: str) -> dict[str, dict[str, Any]]:
    """The two operation machines, and the branch of the sweep that looks at one record."""
    parameters = {
        "Operations": "charge=charge",
        "MaxAttempts": MAX_ATTEMPTS,
        "FullLaneOperations": full_lane_operations,
    }
    text = json.dumps(rendered_definitions(ROOT / "template.yaml", parameters))
    assert DEFAULT_LIMIT in text
    rendered = json.loads(text.replace(DEFAULT_LIMIT, f"$number('{INLINE_LIMIT}')"))
    shard = rendered["recovery"]["States"]["SweepShards"]["ItemProcessor"]
    return {
        "operation": rendered["operation"],
        "fast": rendered["fast"],
        "sweep": shard["States"]["RecoverOperations"]["ItemProcessor"],
    }


@contextmanager
def rules_of(case: Case, edits: tuple[Edit, ...] = ()) -> Iterator[Rules]:
    """The rules of a case, from the definitions as they are, or edited."""
    machines = dict(_definitions(case.full_lane_operations))
    of_tickets = tuple((each.state, each.old, each.new) for each in edits if each.machines == "ticket")
    of_direct = {each.state: (each.old, each.new) for each in edits if each.machines == "direct"}
    for edit in edits:
        for machine in set(edit.machines.split()) - {"ticket", "direct"}:
            machines[machine] = edit.of(machines[machine])
    name: str = machines["operation"]["States"]["AcquireLock"]["Arguments"]["TableName"]
    with table(name) as there:
        yield Rules(
            full=_machine(json.dumps(machines["operation"])),
            fast=_machine(json.dumps(machines["fast"])),
            direct=Library(name, INLINE_LIMIT, of_direct),
            sweep=_machine(json.dumps(machines["sweep"])),
            table=there,
            requests=tuple(
                (request(each), {"F": FULL, "X": FAST, "D": DIRECT}[lane])
                for each, lane in zip(case.requests, case.lanes, strict=True)
            ),
            budget=case.budget,
            max_attempts=MAX_ATTEMPTS,
            late=case.late,
            edits=of_tickets,
        )
