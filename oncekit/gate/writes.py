"""Writes to DynamoDB: each has a condition, which names the status, the owner and the fence that it expects."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from oncekit.gate.finding import Finding
from oncekit.gate.machine import Machine, State

REFUSED = "DynamoDB.ConditionalCheckFailedException"
_WRITES = ("dynamodb:updateItem", "dynamodb:putItem", "dynamodb:deleteItem")
_EXPECTED = ("status", "owner", "fence")
_MAKES_THE_FENCE = "AcquireLock"
"""Whoever is let in by this write owns nothing yet."""
_ALIAS = re.compile(r"[#:]\w+")
_EXPRESSION = re.compile(r"(?:Condition|Update|Projection|Filter|KeyCondition)Expression")


def check(machine: Machine) -> Iterator[Finding]:
    for state in machine.tasks(*_WRITES):
        condition = _condition(state)
        if not condition:
            yield machine.finding(
                state, "writes without a ConditionExpression, so a late owner overwrites a newer one; add it"
            )
            continue
        missing = [name for name in _EXPECTED if not re.search(rf"(?<![#:\w]){name}(?!\w)", condition)]
        if missing and state.name != _MAKES_THE_FENCE:
            yield machine.finding(
                state,
                f"its condition does not name {', '.join(missing)}, so it may change a record that is no longer "
                "as it was read; add it",
            )
        yield from (machine.finding(state, problem) for problem in _refusals(state))
    for state in machine.tasks():
        if "dynamodb:" in state.resource:
            yield from (machine.finding(state, problem) for problem in _aliases(state))


def _condition(state: State) -> str:
    """With the names that its aliases stand for."""
    arguments = state.raw.get("Arguments", {})
    if not isinstance(arguments, Mapping):
        return ""
    names = arguments.get("ExpressionAttributeNames", {})
    text = str(arguments.get("ConditionExpression", ""))
    return _ALIAS.sub(lambda found: str(names.get(found[0], found[0])), text)


def _refusals(state: State) -> Iterator[str]:
    """A refused write is an answer: it is not asked for again, and has a way of its own."""
    for clause in state.raw.get("Retry", []):
        names = clause.get("ErrorEquals", [])
        if REFUSED in names and clause.get("MaxAttempts") == 0:
            break
        if {REFUSED, "States.ALL", "States.TaskFailed"} & set(names):
            yield f"retries a refused write; put {{ ErrorEquals: [{REFUSED}], MaxAttempts: 0 }} first"
            break
    if not any(REFUSED in clause.get("ErrorEquals", []) for clause in state.raw.get("Catch", [])):
        yield f"has no Catch for {REFUSED}, which says that another one was first; add it"


def _aliases(state: State) -> Iterator[str]:
    """DynamoDB refuses a call with an alias that is not defined, and one with a definition that is not used."""
    arguments = state.raw.get("Arguments", {})
    if not isinstance(arguments, Mapping):
        return
    texts = " ".join(str(value) for key, value in arguments.items() if _EXPRESSION.fullmatch(key))
    used = set(_ALIAS.findall(texts))
    given = set(arguments.get("ExpressionAttributeNames", {})) | set(arguments.get("ExpressionAttributeValues", {}))
    for alias in sorted(used - given):
        yield f"uses {alias}, which ExpressionAttributeNames and -Values do not define: DynamoDB refuses that; add it"
    for alias in sorted(given - used):
        yield f"gives {alias}, which no expression uses, and DynamoDB refuses that; remove it"
