"""What cannot begin on AWS says why in one line: `make e2e`, and the tests of states by TestState."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from scenarios import options

from oncekit.problem import Problem
from oncekit.stack.stack import Stack

ROOT = Path(__file__).parents[2]
NOBODY = {"AWS_EC2_METADATA_DISABLED": "true", "HOME": "/nonexistent", "AWS_DEFAULT_REGION": "us-east-1"}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([], "make e2e STACK=NAME"),
        (["--stack", "once-dev"], "log in, give --profile"),
        (["--stack", "once-dev", "-n", "2"], "one process"),
    ],
)
def test_run_that_cannot_begin_is_told_what_to_give(given: list[str], words: str) -> None:
    assert words in refused("tests/scenarios", *given)


@pytest.mark.parametrize(
    ("more", "words"),
    [({}, "log in, give --profile"), ({"AWS_ENDPOINT_URL": "http://127.0.0.1:9"}, "has no TestState")],
)
def test_states_that_cannot_be_asked_of_aws_need_no_stack_but_a_way_there(more: dict[str, str], words: str) -> None:
    assert words in refused("tests/states/test_answers.py", **more)


def test_states_are_asked_of_aws_where_nothing_else_was_named() -> None:
    somebody = {"AWS_ACCESS_KEY_ID": "nobody", "AWS_SECRET_ACCESS_KEY": "nobody"}
    begun = on_aws("tests/states/test_answers.py::test_the_librarys_own_text_is_kept_as_it_is", "--co", **somebody)
    assert "1 test collected" in begun.stdout, begun.stdout + begun.stderr
    assert "--stack" in refused("tests/states", "tests/scenarios", **somebody)


def on_aws(*given: str, **more: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    command = [sys.executable, "-m", "pytest", "--backend=aws", "-p", "no:cacheprovider", *given]
    environment = {**clean, **NOBODY, **more}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=False)


def refused(*given: str, **more: str) -> str:
    """The line that says why."""
    done = on_aws(*given, **more)
    assert done.returncode == 4, done.stdout + done.stderr
    [line] = [line for line in done.stderr.splitlines() if line]
    return line


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
    """The local cloud cannot take back a deployment to prod."""
    deployed = {"Stage": "dev", "BusinessTimeoutSeconds": "30", "Operations": "e2e=mine-e2e:live", parameter: value}
    monkeypatch.setattr(options, "connect", lambda place, *_: Stack(place.stack, deployed, deployed, None))
    with pytest.raises(Problem, match=f"the stack mine .*{word}"):
        options.stack_for_scenarios("mine", None, None, allow_prod=False)
    if parameter == "Stage":
        assert options.stack_for_scenarios("mine", None, None, allow_prod=True).name == "mine"
