"""The states of both machines, each by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from one_state import State, states_of

from oncekit.local.deploy import rendered_definitions
from oncekit.proof.model.record import Table, table
from oncekit.proof.mutants.visits import seen

TEMPLATE = Path(__file__).parents[2] / "template.yaml"
PARAMETERS = {"BusinessTimeoutSeconds": 30, "LeaseMarginSeconds": 60, "MaxAttempts": 5, "MaxRecoveries": 5}


@pytest.fixture(scope="module")
def rendered() -> dict[str, dict[str, Any]]:
    definitions = rendered_definitions(TEMPLATE, PARAMETERS)
    return {file.name.partition(".")[0]: definition for file, definition in definitions.items()}


@pytest.fixture
def definitions(rendered: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Both definitions, rendered as in the local cloud: operation and recovery."""
    return rendered


@pytest.fixture(scope="module")
def state(rendered: dict[str, dict[str, Any]]) -> Callable[..., State]:
    """A state by its name; `falls` is what the dice say, `at` what time it is."""
    states = {name: raw for each in rendered.values() for name, raw in states_of(each)}

    def named(name: str, **more: float) -> State:
        seen(name)
        return State(name, states[name], **more)

    return named


@pytest.fixture(scope="module")
def records(rendered: dict[str, dict[str, Any]]) -> Iterator[Table]:
    """The table of records, on which the definitions' own writes are made."""
    with table(rendered["operation"]["States"]["AcquireLock"]["Arguments"]["TableName"]) as there:
        yield there
