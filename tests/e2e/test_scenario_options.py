"""`make e2e` that cannot begin says why in one line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from scenarios import options

from oncekit.cli.deployed.stack import Stack
from oncekit.problem import Problem

ROOT = Path(__file__).parents[2]


def refused(*options: str) -> str:
    """What is said by a run that nobody has credentials for."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    nothing = {
        "AWS_EC2_METADATA_DISABLED": "true",
        "HOME": "/nonexistent",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    command = [sys.executable, "-m", "pytest", "tests/scenarios", "--backend=aws", "-p", "no:cacheprovider", *options]
    done = subprocess.run(
        command, cwd=ROOT, env={**clean, **nothing}, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 4, done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    [line] = [line for line in done.stderr.splitlines() if line]
    return line


def refused_at_once(**given: object) -> str:
    """What is said before anything is asked of AWS, and so in this process."""
    config = SimpleNamespace(stash=pytest.Stash(), getoption=lambda name, *_: {"backend": "aws", **given}.get(name))
    with pytest.raises(pytest.UsageError) as said:
        options.pytest_configure(cast(pytest.Config, config))
    return str(said.value)


def test_run_without_a_stack_is_told_how_to_name_one() -> None:
    assert "make e2e STACK=NAME" in refused_at_once()


def test_run_without_credentials_is_told_to_log_in() -> None:
    assert "log in, give --profile" in refused("--stack", "once-dev")


def test_run_in_more_than_one_process_is_refused() -> None:
    assert "one process" in refused_at_once(stack="once-dev", numprocesses=2)


def asked_for(monkeypatch: pytest.MonkeyPatch, allow_prod: bool = False, **parameters: str) -> Stack:
    """What becomes of a stack with these parameters; the local cloud cannot take back a deployment to prod."""
    deployed = {"Stage": "dev", "BusinessTimeoutSeconds": "30", **parameters}
    outputs = {"Operations": parameters.get("Operations", "e2e=mine-e2e:live")}
    monkeypatch.setattr(options, "connect", lambda place, *_: Stack(place.stack, outputs, deployed, None))
    return options.stack_for_scenarios("mine", None, None, allow_prod)


@pytest.mark.parametrize(
    ("parameter", "value", "word"),
    [
        ("Stage", "prod", "--allow-prod"),
        ("BusinessTimeoutSeconds", "2", "too short"),
        ("Operations", "charge=mine:live", "no operation e2e: .* e2e=mine-e2e:live"),
    ],
)
def test_stack_that_is_none_for_this_is_refused(
    monkeypatch: pytest.MonkeyPatch, parameter: str, value: str, word: str
) -> None:
    with pytest.raises(Problem, match=f"the stack mine .*{word}"):
        asked_for(monkeypatch, **{parameter: value})


def test_stack_in_prod_is_taken_when_that_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    assert asked_for(monkeypatch, allow_prod=True, Stage="prod").name == "mine"
