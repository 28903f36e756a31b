"""Placeholders: each has a substitution, stands inside of a string or alone, and bare where AWS wants a number.

CloudFormation replaces them as text, before it reads YAML. Written inside of a string, or alone as a value, a
definition is valid before and after that, and a value cannot become part of an expression. This check reads
definitions as they are written, so that it can say more than that they cannot be rendered.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from typing import Any

from oncekit.gate.finding import Finding
from oncekit.gate.machine import Machine, State
from oncekit.gate.project import MACHINE, Project
from oncekit.local.definition import Bare

_PLACEHOLDER = re.compile(r"\$\{(\w+)\}")
_ANY = re.compile(r"\$\{[^}]*\}?")
_LITERAL = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
_NUMBERS = {
    "BackoffRate",
    "HeartbeatSeconds",
    "IntervalSeconds",
    "MaxAttempts",
    "MaxConcurrency",
    "MaxDelaySeconds",
    "Seconds",
    "TimeoutSeconds",
}


def check(project: Project) -> Iterator[Finding]:
    for logical_id, properties in project.resources(MACHINE).items():
        machine = project.written(logical_id)
        known = frozenset(properties.get("DefinitionSubstitutions", {}))
        yield from _of_machine(machine, known)


@functools.lru_cache(maxsize=64)
def _of_machine(machine: Machine, known: frozenset[str]) -> tuple[Finding, ...]:
    """Of a machine whose definition is as it is written."""
    of_states = [machine.finding(state, problem) for state in machine.states for problem in _problems(state, known)]
    return (*of_states, *(machine.finding(None, problem) for problem in _numbers(machine.written, ())))


def _problems(state: State, known: frozenset[str]) -> Iterator[str]:
    for text in state.texts:
        for placeholder in _ANY.findall(text.value):
            name = _PLACEHOLDER.fullmatch(placeholder)
            if name is None:
                yield f"{text.field}: {placeholder} is not a placeholder: ${{ and }} around letters and digits; fix it"
            elif name[1] not in known:
                yield f"{text.field}: {placeholder} has no substitution; add it to DefinitionSubstitutions"
        if any("${" in key for key in text.path):
            yield f"{text.field}: a placeholder in the name of a member; put it into the value"
        if text.value.startswith("{%") and "${" in _LITERAL.sub("", text.value):
            yield (
                f"{text.field}: a placeholder outside of a string, where its value would be read as JSONata; "
                "write '${Name}' or $number('${Name}')"
            )
    yield from _numbers(state.raw, ())


def _numbers(node: Any, path: tuple[str, ...]) -> Iterator[str]:
    if isinstance(node, Mapping):
        for key, value in node.items():
            if key in ("States", "ItemProcessor", "Branches", "Arguments", "Assign", "Output"):
                continue
            if (
                key in _NUMBERS
                and isinstance(value, str)
                and not isinstance(value, Bare)
                and not value.startswith("{%")
            ):
                where = ".".join((*path, key))
                yield f"{where} is the string {value!r}, and AWS wants a number; write it without quotes"
            yield from _numbers(value, (*path, str(key)))
    elif isinstance(node, list):
        for number, value in enumerate(node):
            yield from _numbers(value, (*path, str(number)))
