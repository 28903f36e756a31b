"""Writes to DynamoDB: each has a condition, which names the status, the owner and the fence that it expects."""

from __future__ import annotations

import re
from collections.abc import Iterator

from oncekit.gate.machine import Finding, Machine, State

REFUSED = "DynamoDB.ConditionalCheckFailedException"
_WRITES = ("dynamodb:updateItem", "dynamodb:putItem", "dynamodb:deleteItem")
_EXPECTED = ("status", "owner", "fence")
_MAKES_THE_FENCE = "AcquireLock"
"""Whoever is let in by this write owns nothing yet."""
_ALIAS = re.compile(r"#\w+")


def check(machine: Machine) -> Iterator[Finding]:
    for state in machine.tasks(*_WRITES):
        for problem in _problems(state):
            yield machine.finding(state, problem)


def _problems(state: State) -> Iterator[str]:
    names = state.arguments.get("ExpressionAttributeNames", {})
    written = str(state.arguments.get("ConditionExpression", ""))
    condition = _ALIAS.sub(lambda found: str(names.get(found[0], found[0])), written)
    if not condition:
        yield "writes without a ConditionExpression, so a late owner overwrites a newer one; add it"
        return
    missing = [name for name in _EXPECTED if not re.search(rf"(?<![#:\w]){name}(?!\w)", condition)]
    if missing and state.name != _MAKES_THE_FENCE:
        yield (
            f"its condition does not name {', '.join(missing)}, so it may change a record that is no longer as it was "
            "read; add it"
        )
    # A refused write is an answer: it is not asked for again, and has a way of its own.
    for clause in state.raw.get("Retry", []):
        errors = clause.get("ErrorEquals", [])
        if REFUSED in errors and clause.get("MaxAttempts") == 0:
            break
        if {REFUSED, "States.ALL", "States.TaskFailed"} & set(errors):
            yield f"retries a refused write; put {{ ErrorEquals: [{REFUSED}], MaxAttempts: 0 }} first"
            break
    if not any(REFUSED in clause.get("ErrorEquals", []) for clause in state.raw.get("Catch", [])):
        yield f"has no Catch for {REFUSED}, which says that another one was first; add it"
