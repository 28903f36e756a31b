"""What a run's executions cost on AWS at most, reckoned from their histories.

Upper bounds, in place of counters that AWS does not offer: of each transition, as if it were a write of the largest
record with both of its index entries, a start of a function and a PUT; of each second of an execution, as if its
function ran all the time. Prices are us-east-1's, from oncekit.bench.cost.prices where they are the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from scenarios.backend import Backend

from oncekit.bench.cost.prices import INVOCATION, PUT, READ, TRANSITION, WRITE
from oncekit.contract.quotas import MOST_INLINE_BYTES

INDEX_UNITS, READ_UNITS = 2, 2
GIGABYTES, GIGABYTE_SECOND = 0.5, 0.0000166667
"""Memory of the functions; the price on x86, the dearer one."""
SEND = 1.0
"""Dollars per million: one event or message for each execution, as if all came by a trigger."""
MOST_DOLLARS_EACH = 0.01
"""Of one scenario; each is held to it. What is printed beforehand is this, times their number."""


@dataclass(frozen=True)
class Cost:
    executions: int
    transitions: int
    seconds: float
    """Of all executions together."""
    record_units: int
    """Write units of the largest record that there may be."""

    @property
    def most_dollars(self) -> float:
        of_transition = TRANSITION + WRITE * (self.record_units + INDEX_UNITS) + READ * READ_UNITS + INVOCATION + PUT
        of_requests = self.transitions * of_transition + self.executions * SEND
        return of_requests / 1e6 + self.seconds * GIGABYTES * GIGABYTE_SECOND

    def __str__(self) -> str:
        return f"{self.executions} executions, {self.transitions} transitions, at most ${self.most_dollars:.4f}"


def cost_of(backend: Backend, executions: Iterable[str]) -> Cost:
    """Of executions that have ended, by their ARNs."""
    histories = [_history(backend, arn) for arn in executions]
    seconds = [
        (events[-1]["timestamp"] - events[0]["timestamp"]).total_seconds() if events else 0.0 for events in histories
    ]
    units = -(-MOST_INLINE_BYTES // 1024)
    return Cost(len(histories), sum(map(_transitions, histories)), sum(seconds), units)


def _history(backend: Backend, arn: str) -> list[dict[str, Any]]:
    client = backend.stack.client("stepfunctions")
    pages = client.get_paginator("get_execution_history").paginate(executionArn=arn, includeExecutionData=False)
    return [event for page in pages for event in page["events"]]


def _transitions(events: list[dict[str, Any]]) -> int:
    """Every state entered, and every retry of one."""
    kinds = [str(event["type"]) for event in events]
    retries = kinds.count("TaskScheduled") - kinds.count("TaskStateEntered")
    return sum(kind.endswith("StateEntered") for kind in kinds) + max(0, retries)
