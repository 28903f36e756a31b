"""The commands of docs/sam-local.md. A process of the local Lambda runtime stands in for sam's container."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from operating import Operator
from scenario import rows
from template_parts import OWN_FUNCTIONS, TEMPLATE

from oncekit.local.lambda_runtime import LambdaRuntime

ROOT = TEMPLATE.parent
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PAGE = (ROOT / "docs" / "sam-local.md").read_text()
NOT_HERE = ("make sam ", "sam build", "once up ", "GATEWAY=", "socat ")
"""How the commands begin that build, go on for ever, or are for a container engine."""


def commands(heading: str) -> list[str]:
    """Those under a heading, and under the smaller ones after it, that can be run here."""
    section = re.split(r"^## ", PAGE, flags=re.MULTILINE)
    (text,) = (each for each in section if each.startswith(f"{heading}\n"))
    lines = [line[2:] for block in BLOCK.finditer(text) for line in block[1].splitlines() if line.startswith("$ ")]
    return [line for line in lines if not line.startswith(NOT_HERE)]


class Terminal:
    """One in a folder with the template and the requests, after `eval "$(once env)"`."""

    def __init__(self, operator: Operator) -> None:
        self.operator = operator
        self.runtime = LambdaRuntime({})

    def give(self, command: str) -> bytes:
        """What `sam local invoke` prints; `once` prints nothing here, and may not fail."""
        words = shlex.split(command)
        if words[0] == "once":
            done = self.operator.once(*words[1:])
            assert (done.code, done.out) == (0, ""), done.err
            return b""
        given = sam_local_invoke(words)
        # In place of a container: a process, which knows this machine by another name.
        text = Path(given.env_vars).read_text().replace("host.docker.internal", "127.0.0.1")
        spec = self.operator.cloud.functions.functions[self.operator.cloud.resources[given.function]]
        credentials = {name: os.environ[name] for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")}
        variables = credentials | json.loads(text)[given.function]
        self.runtime.register(given.function, replace(spec, environment=variables, role=None))
        event = Path(given.event).read_bytes()
        answer: bytes = self.runtime.invoke(FunctionName=given.function, Payload=event)["Payload"].read()
        return answer


def sam_local_invoke(words: list[str]) -> Namespace:
    assert words[:3] == ["sam", "local", "invoke"], f"nothing stands in for {words}"
    options = ArgumentParser()
    options.add_argument("function")
    options.add_argument("-e", "--event")
    for name in ("--env-vars", "--config-env", "--add-host"):
        options.add_argument(name)
    return options.parse_args(words[3:])


@pytest.fixture
def terminal(operator: Operator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    shutil.copytree(ROOT / "events", tmp_path / "events")
    shutil.copy(TEMPLATE, tmp_path)
    monkeypatch.chdir(tmp_path)
    for name, value in operator.cloud.environment.items():
        monkeypatch.setenv(name, value)
    terminal = Terminal(operator)
    yield terminal
    terminal.runtime.close()


def test_functions_run_on_what_is_deployed_as_the_page_says(terminal: Terminal) -> None:
    told = commands("With what is deployed")
    assert [each.split()[:2] for each in told] == [["once", "env"]] * 2 + [["sam", "local"]] * 2
    answers = [answer for command in told if (answer := terminal.give(command))]
    assert b"placed" in answers[0] and answers[0] == answers[1]
    assert rows(terminal.operator.cloud, "OrdersTable") == 1, "the second attempt found the step done"


def test_functions_and_events_that_the_page_names_for_a_function_alone_are_there() -> None:
    told = [sam_local_invoke(shlex.split(command)) for command in commands("Alone")]
    assert len(told) == 2
    for each in told:
        assert each.function in OWN_FUNCTIONS and (ROOT / each.event).is_file()
