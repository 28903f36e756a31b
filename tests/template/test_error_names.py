"""Every error that the state machine names can occur: with one wrong letter, a name never matches."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from once import errors

from oncekit.gate import errors as error_names
from oncekit.gate import retries, shape
from oncekit.gate.project import Project
from oncekit.gate.run import Check

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def found() -> Callable[[Check], list[str]]:
    """What a check of the gate finds; tests/gate shows what it refuses."""
    project = Project.at(ROOT / "template.yaml")
    return lambda check: [str(each) for each in check(project)]


def test_every_error_name_is_one_of_its_service(found: Callable[[Check], list[str]]) -> None:
    assert found(error_names.check) == []


def test_every_task_has_a_timeout_a_retry_and_says_why_it_exists(found: Callable[[Check], list[str]]) -> None:
    assert found(shape.check) == []


def test_no_retry_is_unbounded_or_around_what_may_have_happened(found: Callable[[Check], list[str]]) -> None:
    assert found(retries.check) == []


@pytest.mark.parametrize("name", ["PermanentError", "NeedsAttention", "LockLostError"])
def test_what_the_library_raises_is_what_the_state_machine_tells_apart(definition: dict[str, Any], name: str) -> None:
    assert issubclass(getattr(errors, name), errors.OnceError)
    conditions = json.dumps([c["Condition"] for c in definition["States"]["ClassifyFailure"]["Choices"]])
    assert re.search(rf"\$failure\.name (=|in \[)[^\]]*'{name}'", conditions)
