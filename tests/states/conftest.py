"""The states of both machines, each by itself."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aws_state
import pytest
from one_state import FAST, FULL, MAX_ATTEMPTS, NOW, Lane, State, machine_of
from scenarios.options import states_run_on_aws

from oncekit.local.deployment.deploy import rendered_definitions
from oncekit.problem import Problem

TEMPLATE = Path(__file__).parents[2] / "template.yaml"
OPERATIONS = ("charge", "a", "a" * 40, "a-0", "z9-")
KIND = pytest.StashKey[Callable[..., State]]()


def pytest_configure(config: pytest.Config) -> None:
    """Who answers for a state."""
    config.stash[KIND] = State
    if states_run_on_aws(config):
        try:
            client = aws_state.client(config.getoption("profile"), config.getoption("region"))
        except Problem as problem:
            raise pytest.UsageError(str(problem)) from problem
        config.stash[KIND] = functools.partial(aws_state.OnAws, client=client)


@pytest.fixture(scope="session")
def rendered() -> dict[str, dict[str, Any]]:
    named = ",".join(f"{operation}=my-{operation}:live" for operation in OPERATIONS)
    return rendered_definitions(TEMPLATE, {"Operations": named, "MaxAttempts": str(MAX_ATTEMPTS)})


@pytest.fixture(scope="session")
def kind(pytestconfig: pytest.Config) -> Callable[..., State]:
    """A state by its name, the machine that has it, its lane, and what time it is."""
    return pytestconfig.stash[KIND]


@pytest.fixture(scope="session")
def of(rendered: dict[str, dict[str, Any]], kind: Callable[..., State]) -> Callable[..., State]:
    """A state by the names of its machine and of itself."""

    def named(machine: str, name: str, lane: Lane = FAST, at: float = NOW) -> State:
        return kind(name, machine_of(rendered[machine], name), lane, at)

    return named


@pytest.fixture(scope="session")
def state(of: Callable[..., State]) -> Callable[..., State]:
    """A state of the full lane by its name. States of this name in the fast lane are the same."""
    return functools.partial(of, "operation", lane=FULL)


@pytest.fixture(scope="session")
def fast(of: Callable[..., State]) -> Callable[..., State]:
    """A state of the fast lane by its name; `at` is what time it is."""
    return lambda name, at=NOW: of("fast", name, FAST, at)
