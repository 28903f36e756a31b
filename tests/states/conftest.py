"""The states of both machines, each by itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from one_state import FAST, FULL, Lane, State, states_of

from oncekit.local.deploy import rendered_definitions

TEMPLATE = Path(__file__).parents[2] / "template.yaml"
PARAMETERS = {
    "BusinessTimeoutSeconds": 30,
    "LeaseMarginSeconds": 60,
    "MaxAttempts": 5,
    "MaxRecoveries": 5,
    "PayloadOnlyOperations": "bill, as-it-was",
}


@pytest.fixture(scope="module")
def rendered() -> dict[str, dict[str, Any]]:
    return rendered_definitions(TEMPLATE, PARAMETERS)


@pytest.fixture
def definitions(rendered: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """All definitions, rendered as in the local cloud: operation, fast and recovery."""
    return rendered


@pytest.fixture(scope="module")
def state(rendered: dict[str, dict[str, Any]]) -> Callable[..., State]:
    """A state of the full lane or of recovery by its name; `falls` is what the dice say, `at` what time it is."""
    states = {name: raw for each in ("operation", "recovery") for name, raw in states_of(rendered[each])}

    def named(name: str, lane: Lane = FULL, **more: float) -> State:
        return State(name, states[name], lane=lane, **more)

    return named


@pytest.fixture(scope="module")
def fast(rendered: dict[str, dict[str, Any]]) -> Callable[..., State]:
    """A state of the fast lane by its name."""
    states = dict(states_of(rendered["fast"]))

    def named(name: str, lane: Lane = FAST, **more: float) -> State:
        return State(name, states[name], lane=lane, **more)

    return named
