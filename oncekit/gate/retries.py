"""Retries: bounded, spread out, and never around something that may have happened."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from oncekit.gate.finding import Finding
from oncekit.gate.machine import Machine, State, of_each_machine
from oncekit.gate.reasons import REPEATABLE, Excused

_READS = (
    "dynamodb:getItem",
    "aws-sdk:dynamodb:query",
    "aws-sdk:s3:getObject",
    "aws-sdk:sfn:describeExecution",
    "aws-sdk:sfn:getExecutionHistory",
    "aws-sdk:sfn:listExecutions",
)
_WRITES_ALIKE = ("aws-sdk:s3:putObject", "dynamodb:updateItem", "dynamodb:putItem", "dynamodb:deleteItem")
"""A second one leaves what the first one left; that those to DynamoDB are conditional is in writes.py."""


@of_each_machine
def check(machine: Machine) -> Iterator[Finding]:
    excused = Excused(REPEATABLE, machine.name)
    for state in machine.states:
        for number, clause in enumerate(state.raw.get("Retry", [])):
            if clause.get("MaxAttempts") != 0:
                yield from (machine.finding(state, f"Retry.{number}: {each}") for each in _unbounded(clause))
        if (problem := _may_have_happened(state)) and not excused(state.name):
            yield machine.finding(state, problem)
    for name in excused.unused():
        yield Finding(
            machine.file, name, "is listed in REPEATABLE in oncekit/gate/reasons.py for nothing; remove it there"
        )


def _unbounded(clause: Mapping[str, Any]) -> Iterator[str]:
    if "MaxAttempts" not in clause:
        yield "has no MaxAttempts, and AWS's default of 3 is nobody's decision; say how often"
    if not {"IntervalSeconds", "BackoffRate"} <= set(clause):
        yield "has no IntervalSeconds or no BackoffRate; waits that do not grow strike a struggling service harder"
    elif clause["IntervalSeconds"] < 1 or clause["BackoffRate"] < 1:
        yield "has an IntervalSeconds or a BackoffRate below 1, and AWS refuses that; set it higher"
    if "MaxDelaySeconds" not in clause:
        yield "has no MaxDelaySeconds, so the waits grow without a cap; add it"
    if clause.get("JitterStrategy") != "FULL":
        yield "has no JitterStrategy: FULL, so all executions that failed together come back together; add it"


def _may_have_happened(state: State) -> str | None:
    """Why what the task retries may take effect twice."""
    retried = [
        name
        for clause in state.raw.get("Retry", [])
        if clause.get("MaxAttempts") != 0
        for name in clause["ErrorEquals"]
    ]
    if state.type != "Task" or not retried or state.resource in (*_READS, *_WRITES_ALIKE):
        return None
    listed = "or give the reason why it may be repeated in oncekit/gate/reasons.py"
    if state.resource in ("aws-sdk:sfn:startExecution", "states:startExecution"):
        named = isinstance(state.raw.get("Arguments"), Mapping) and "Name" in state.raw["Arguments"]
        return (
            None if named else f"starts an execution without a Name, and a retry starts a second one; name it, {listed}"
        )
    if state.resource.startswith("lambda:invoke"):
        what = (
            f"retries {', '.join(sorted(set(retried)))}, after which the function may have run: it may raise any name"
        )
        return f"{what}; catch it, and look at the cause, {listed}"
    return f"retries {state.resource}, which may have had its effect when the error came; do not retry it, {listed}"
