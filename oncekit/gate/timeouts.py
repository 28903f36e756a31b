"""Timeouts in their order: function < task < lease < execution, whatever values the parameters allow.

A function that outlives its task works on unobserved; a task that outlives its lease is taken for dead while it works;
an execution that ends before its lease leaves a lock behind that nobody looks at until it is over.
"""

from __future__ import annotations

import functools
import itertools
import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from oncekit.gate.finding import Finding
from oncekit.gate.machine import Machine, State, Text
from oncekit.gate.project import FUNCTION, MACHINE, Project
from oncekit.gate.reasons import LEASES_OF_OTHERS, Excused
from oncekit.local.engine.expression import Evaluator
from oncekit.local.engine.values import JSONataError
from oncekit.local.intrinsics import Resolver
from oncekit.local.quotas import EXPRESS_SECONDS
from oncekit.promises.leases import lease_texts

LAMBDA_LIMIT = 900
_NOW = 1_800_000_000
_PLACEHOLDER = re.compile(r"\$\{(\w+)\}")
_evaluator = Evaluator(lambda: _NOW, random.Random(0))  # noqa: S311 no secret

Given = dict[str, float]


def check(project: Project) -> Iterator[Finding]:
    told: set[tuple[str, str]] = set()
    for given in _corners(project):
        at = ", ".join(f"{name} {value:g}" for name, value in given.items())
        for finding in _at(project, given):
            what = (finding.where, re.sub(r"[0-9.]+", "", finding.text))
            if what not in told:
                told.add(what)
                yield replace(finding, text=f"{finding.text} (with {at})" if at else finding.text)
    for machine in project.machines:
        for state in machine.tasks():
            yield from _patience(machine, state)


def _at(project: Project, given: Given) -> Iterator[Finding]:
    resolver, defaults = project.resolver(given), project.resolver()
    functions = project.resources(FUNCTION)
    seconds = {name: float(resolver.resolve(each.get("Timeout", 3))) for name, each in functions.items()}
    for name, timeout in seconds.items():
        if timeout > LAMBDA_LIMIT:
            yield Finding(
                project.path.name, name, f"Timeout is {timeout:g} s, and Lambda ends at {LAMBDA_LIMIT}; set it lower"
            )
    for written in project.machines:
        machine = project.under(given, written)
        execution = machine.definition.get("TimeoutSeconds")
        if machine.type == "EXPRESS" and not (isinstance(execution, int) and execution <= EXPRESS_SECONDS):
            yield machine.finding(
                None,
                f"TimeoutSeconds is {execution}, and AWS ends an Express execution at {EXPRESS_SECONDS}; set it lower, "
                "so that it ends in order",
            )
        for state in machine.tasks("lambda:invoke"):
            called = {name: seconds[name] for name in _functions(project, defaults, written, state)}
            yield from _task(machine, state, called)
        yield from _leases(machine)


def _task(machine: Machine, state: State, called: Mapping[str, float]) -> Iterator[Finding]:
    task = timeout_of(state)
    if task is None:
        yield machine.finding(
            state, "TimeoutSeconds cannot be told without running it; make it a number or of parameters"
        )
        return
    if not called:
        yield machine.finding(
            state, "no function of the template has its FunctionName; name one, or the prefix of some"
        )
    for name, seconds in called.items():
        if seconds >= task:
            yield machine.finding(
                state,
                f"its task ends after {task:g} s and {name} after {seconds:g} s, so the function works on while "
                "another attempt starts; let the task wait longer",
            )


@functools.lru_cache(maxsize=64)
def _leases(machine: Machine) -> tuple[Finding, ...]:
    return tuple(_leases_of(machine))


def _leases_of(machine: Machine) -> Iterator[Finding]:
    execution = machine.definition.get("TimeoutSeconds")
    tasks = {state.name: timeout_of(state) or 0 for state in machine.tasks("lambda:invoke")}
    is_express = machine.type == "EXPRESS"
    excused = Excused(LEASES_OF_OTHERS, machine.name)
    variables = {"stopsAt": _NOW + EXPRESS_SECONDS if is_express else 0}
    for state in machine.tasks("dynamodb:updateItem"):
        for text in lease_texts(state.raw):
            lease = _number(text, variables)
            if lease is None:
                yield machine.finding(
                    state, f"{text} as a lease cannot be told without running it; make it of parameters"
                )
                continue
            lease -= _NOW
            if lease <= 0:  # it ends a lease
                continue
            for name, task in tasks.items():
                if task >= lease:
                    yield machine.finding(
                        state,
                        f"the lease of {lease:g} s is over before {name} ends after {task:g} s, so a live owner is "
                        "taken for dead; let the lease be longer",
                    )
            if is_express and lease < EXPRESS_SECONDS + max(tasks.values(), default=0) and not excused(state.name):
                yield machine.finding(
                    state,
                    f"the lease of {lease:g} s can end before an Express execution and its function do, and nobody can "
                    "ask whether they live; let the lease be longer",
                )
            if not is_express and isinstance(execution, int) and lease >= execution:
                yield machine.finding(
                    state, f"the lease of {lease:g} s outlives the execution's {execution} s; let the lease be shorter"
                )


def _patience(machine: Machine, state: State) -> Iterator[Finding]:
    """All tries of a task end before the execution does, so that its own Catch has the last word."""
    execution, task = machine.definition.get("TimeoutSeconds"), timeout_of(state)
    if not isinstance(execution, int) or task is None or not _is_caught_after_retries(state):
        return
    waits = sum(
        _tries(clause) * ((_number(clause.get("MaxDelaySeconds")) or 0) + task) for clause in state.raw.get("Retry", [])
    )
    if task + waits >= execution:
        yield machine.finding(
            state,
            f"with its retries it may take {task + waits:g} s, and the execution ends after {execution}, "
            "before any Catch; retry less, or wait less",
        )


def _is_caught_after_retries(state: State) -> bool:
    """Whether a Catch waits for an error that is tried again first."""
    clauses = state.raw.get("Retry", [])
    retried = {name for clause in clauses if _tries(clause) for name in clause["ErrorEquals"]}
    at_once = {name for clause in clauses if not _tries(clause) for name in clause["ErrorEquals"]}
    caught = {name for clause in state.raw.get("Catch", []) for name in clause["ErrorEquals"]}
    return bool(retried) and bool(caught - at_once if "States.ALL" in retried else caught & retried)


def _tries(clause: Mapping[str, Any]) -> float:
    """How often a Retry tries again; whether a number is a string is another check's business."""
    return _number(clause.get("MaxAttempts", 3)) or 0


def timeout_of(state: State) -> float | None:
    """A task's TimeoutSeconds, where it can be told without running it."""
    return _number(state.raw.get("TimeoutSeconds"))


def _number(value: Any, variables: Mapping[str, Any] | None = None) -> float | None:
    try:
        text = Text((), str(value))
        return float(_evaluator.evaluate(text.source, variables or {}) if text.is_expression else value)
    except (JSONataError, TypeError, ValueError):
        return None


def _functions(project: Project, resolver: Resolver, machine: Machine, state: State) -> Iterator[str]:
    """The logical ids of the functions that a task may invoke, by what its FunctionName is made of."""
    written = next(each for each in project.written(machine.logical_id).states if each.name == state.name)
    substitutions = project.resources(MACHINE)[machine.logical_id].get("DefinitionSubstitutions", {})
    functions = project.resources(FUNCTION)
    for placeholder in _named_by(project.written(machine.logical_id), written):
        resolved = str(resolver.resolve(substitutions.get(placeholder, "")))
        for name, properties in functions.items():
            called = str(resolver.resolve(properties.get("FunctionName", "")))
            if resolved.partition(".")[0] == name or called.startswith(f"{resolved}-"):
                yield name


def _named_by(machine: Machine, state: State) -> list[str]:
    """The placeholders that a task's FunctionName is made of, here or where its variable is assigned."""
    name = str(state.raw.get("Arguments", {}).get("FunctionName", ""))
    if found := _PLACEHOLDER.findall(name):
        return found
    assigned = (str(each.raw.get("Assign", {})) for each in machine.states)
    every = {placeholder for text in assigned for placeholder in _PLACEHOLDER.findall(text)}
    return sorted(each for each in every if each.endswith("FunctionPrefix"))


def _corners(project: Project) -> Iterator[Given]:
    """Every combination of least and greatest value of the parameters that make a function, task or lease."""
    names = sorted(_of_functions(project) | _of_definitions(project))
    choices = [_values(project.parameters[name]) for name in names]
    for values in itertools.product(*choices):
        yield dict(zip(names, values, strict=True))


def _values(declaration: Mapping[str, Any]) -> list[float]:
    given = [declaration.get(key) for key in ("MinValue", "Default", "MaxValue")] + declaration.get("AllowedValues", [])
    numbers = {float(each) for each in given if each is not None}
    return sorted({min(numbers), max(numbers)})


def _of_functions(project: Project) -> set[str]:
    timeouts = (properties.get("Timeout") for properties in project.resources(FUNCTION).values())
    return {each["Ref"] for each in timeouts if isinstance(each, Mapping) and each.get("Ref") in project.parameters}


def _of_definitions(project: Project) -> set[str]:
    found = set()
    for machine in project.machines:
        substitutions = project.resources(MACHINE)[machine.logical_id].get("DefinitionSubstitutions", {})
        for state in project.written(machine.logical_id).tasks():
            for text in (str(state.raw.get("TimeoutSeconds")), *lease_texts(state.raw)):
                for placeholder in _PLACEHOLDER.findall(text):
                    value = substitutions.get(placeholder)
                    if isinstance(value, Mapping) and value.get("Ref") in project.parameters:
                        found.add(value["Ref"])
    return found
