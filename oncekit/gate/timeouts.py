"""Timeouts in their order: function < task < lease < execution, whatever values the parameters allow.

A function that outlives its task works on unobserved; a task that outlives its lease is taken for dead while it works;
an execution that ends before its lease leaves a lock behind that nobody looks at until it is over.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from oncekit.asl.expression import Evaluator
from oncekit.asl.values import JSONataError
from oncekit.contract.quotas import EXPRESS_SECONDS
from oncekit.gate.machine import Finding, Machine, State, Text
from oncekit.gate.project import FUNCTION, Project

_NOW = 1_800_000_000
_MAKES_TIMES = "BusinessTimeoutSeconds"
"""The parameter that functions' timeouts, tasks' and leases are made of."""
_evaluator = Evaluator(lambda: _NOW, random.Random(0))  # noqa: S311 no secret

_LEASE = re.compile(r"\bleaseExpiresAt\s*=\s*(:\w+)")


def check(project: Project) -> Iterator[Finding]:
    """With the least and the greatest value of the parameter; of each state the first fault."""
    found: dict[str, Finding] = {}
    for bound in ("MinValue", "MaxValue"):
        value = project.parameters[_MAKES_TIMES][bound]
        for finding in _at(project, {_MAKES_TIMES: value}):
            found.setdefault(finding.where, replace(finding, text=f"{finding.text} (with {_MAKES_TIMES} {value})"))
    yield from found.values()


def _at(project: Project, given: Mapping[str, object]) -> Iterator[Finding]:
    resolver, functions = project.resolver(given), project.resources(FUNCTION)
    seconds = {name: float(resolver.resolve(each.get("Timeout", 3))) for name, each in functions.items()}
    for machine in project.machines_under(given):
        if machine.type == "EXPRESS" and machine.definition["TimeoutSeconds"] > EXPRESS_SECONDS:
            yield machine.finding(
                None, f"AWS ends an Express execution at {EXPRESS_SECONDS} s; set TimeoutSeconds lower"
            )
        for state in machine.tasks():
            if timeout_of(state) is None:
                yield machine.finding(state, "has no TimeoutSeconds that parameters give; AWS's default may be forever")
        named = {name for name in functions for state in machine.tasks("lambda:invoke") if _names(state, name)}
        for state in machine.tasks("lambda:invoke"):
            called = {each for each in functions if _names(state, each)} or set(functions) - named
            yield from _task(machine, state, {each: seconds[each] for each in sorted(called)})
        for state in machine.tasks("dynamodb:updateItem"):
            yield from _lease(machine, state)


def _names(state: State, function: str) -> bool:
    return str(state.arguments.get("FunctionName", "")).startswith(f"{function}.")


def _task(machine: Machine, state: State, called: Mapping[str, float]) -> Iterator[Finding]:
    task = timeout_of(state) or 0
    for name, seconds in called.items():
        if seconds >= task:
            yield machine.finding(
                state,
                f"its task ends after {task:g} s and {name} after {seconds:g} s, so the function works on while "
                "another attempt starts; let the task wait longer",
            )


def _lease(machine: Machine, state: State) -> Iterator[Finding]:
    execution, is_express = machine.definition["TimeoutSeconds"], machine.type == "EXPRESS"
    tasks = {each.name: timeout_of(each) or 0 for each in machine.tasks("lambda:invoke")}
    # The shortest lease: without a wait before the attempt.
    variables = {"stopsAt": _NOW + execution, "next": {"waitSeconds": 0}}
    update = str(state.arguments.get("UpdateExpression", "")).partition("SET ")[2]
    if "pendingSince" in update:  # nobody works under it
        return
    for value in _LEASE.findall(update):
        values = state.arguments["ExpressionAttributeValues"]
        written = _value(values, variables) if isinstance(values, str) else values
        text = str((written or {}).get(value, {}).get("N"))
        ends = _number(text, variables)
        if ends is None:
            yield machine.finding(state, f"{text} as a lease cannot be told without running it; make it of parameters")
            continue
        lease = ends - _NOW
        if lease <= 0:  # it ends a lease
            continue
        for name, task in tasks.items():
            if task >= lease:
                yield machine.finding(
                    state,
                    f"the lease of {lease:g} s is over before {name} ends after {task:g} s, so a live owner is "
                    "taken for dead; let the lease be longer",
                )
        if is_express and lease < execution + max(tasks.values(), default=0):
            yield machine.finding(
                state,
                f"the lease of {lease:g} s can end before an Express execution and its function do, and nobody can "
                "ask whether they live; let the lease be longer",
            )
        if not is_express and lease >= execution:
            yield machine.finding(
                state, f"the lease of {lease:g} s outlives the execution's {execution} s; let the lease be shorter"
            )


def timeout_of(state: State) -> float | None:
    """A task's TimeoutSeconds, where it can be told without running it."""
    return _number(state.raw.get("TimeoutSeconds"), {})


def _number(value: Any, variables: Mapping[str, Any]) -> float | None:
    try:
        return float(_value(value, variables))
    except (TypeError, ValueError):
        return None


def _value(value: Any, variables: Mapping[str, Any]) -> Any:
    """What an expression comes to where only `variables` are known; None where that is not enough."""
    text = Text((), str(value))
    try:
        return _evaluator.evaluate(text.source, {}, variables) if text.is_expression else value
    except JSONataError:
        return None
