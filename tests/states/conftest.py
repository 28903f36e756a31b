"""The states of both machines, each by itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from one_state import FAST, FULL, MAX_ATTEMPTS, NOW, State, states_of

from oncekit.local.deploy import rendered_definitions

TEMPLATE = Path(__file__).parents[2] / "template.yaml"
OPERATIONS = ("charge", "a", "a" * 40, "a-0", "z9-")


@pytest.fixture(scope="module")
def rendered() -> dict[str, dict[str, Any]]:
    named = ",".join(f"{operation}=my-{operation}:live" for operation in OPERATIONS)
    return rendered_definitions(TEMPLATE, {"Operations": named, "MaxAttempts": str(MAX_ATTEMPTS)})


@pytest.fixture(scope="module")
def state(rendered: dict[str, dict[str, Any]]) -> Callable[..., State]:
    """A state of the full lane by its name. States of this name in the fast lane are the same."""
    states = dict(states_of(rendered["operation"]))
    return lambda name: State(name, states[name], FULL)


@pytest.fixture(scope="module")
def fast(rendered: dict[str, dict[str, Any]]) -> Callable[..., State]:
    """A state of the fast lane by its name; `at` is what time it is."""
    states = dict(states_of(rendered["fast"]))

    def named(name: str, at: float = NOW) -> State:
        return State(name, states[name], FAST, at)

    return named
