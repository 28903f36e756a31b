"""Scopes of variables in a definition, as CreateStateMachine checks them.

States inside a Map or a Parallel can read the variables outside; their own variables must have other names.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from moto.core.exceptions import AWSError
from moto.stepfunctions.parser import api
from moto.stepfunctions.parser.models import StepFunctionsParserBackend

from oncekit.local.engine.patching import replaced

Machine = Mapping[str, Any]


class InvalidDefinition(AWSError):
    """moto's own of this name arrives without a code."""

    TYPE = "InvalidDefinition"


def assigned_twice(machine: Machine, outer: frozenset[str] = frozenset()) -> Iterator[tuple[str, str]]:
    """The states that assign a variable of a scope around theirs, with the variable's name."""
    states: Mapping[str, Machine] = machine.get("States", {})
    own = {name: set(_assigned(state)) for name, state in states.items()}
    for name, assigned in own.items():
        yield from ((name, variable) for variable in sorted(assigned & outer))
    scope = outer.union(*own.values())
    for state in states.values():
        for inner in _inside(state):
            yield from assigned_twice(inner, scope)


def _assigned(state: Machine) -> Iterator[str]:
    for place in (state, *state.get("Choices", ()), *state.get("Catch", ())):
        yield from (name.removesuffix(".$") for name in place.get("Assign", ()))


def _inside(state: Machine) -> list[Machine]:
    processor = state.get("ItemProcessor") or state.get("Iterator")
    return [*state.get("Branches", ()), *([processor] if processor else [])]


@contextmanager
def patch() -> Iterator[None]:
    validate = StepFunctionsParserBackend._validate_definition

    def validate_with_scopes(definition: str) -> None:
        try:
            validate(definition)
        except api.InvalidDefinition as error:
            raise InvalidDefinition(str(error)) from error
        problems = [
            f"SCHEMA_VALIDATION_FAILED: Variable '{name}' of an outer scope cannot be assigned at '{state}'"
            for state, name in assigned_twice(json.loads(definition))
        ]
        if problems:
            raise InvalidDefinition(f"Invalid State Machine Definition: '{', '.join(problems)}'")

    with replaced((StepFunctionsParserBackend, "_validate_definition", staticmethod(validate_with_scopes))):
        yield
