"""Functions that are not Python, in a stranger's application: they run as they are, or one sentence says why not."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .conftest import Application

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="this machine has no Node.js")

HEAD = "Transform: AWS::Serverless-2016-10-31\nResources:\n"
FUNCTION = "  {name}:\n    Type: AWS::Serverless::Function\n    Properties: {{ {properties} }}\n"


def add(application: Application, name: str, properties: str, files: dict[str, str] | None = None) -> None:
    """A function to the template, and its code."""
    template = application.folder / "template.yaml"
    text = template.read_text() if template.exists() else HEAD
    template.write_text(text + FUNCTION.format(name=name, properties=properties))
    for file, code in (files or {}).items():
        path = application.folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(code)


def adopt(application: Application, *functions: str) -> None:
    assert application.once("init").code == 0
    (application.folder / "sample.json").write_text('{"id": "1"}')
    for name in functions:
        done = application.once("new", name.lower(), "--function", name, "--example", "sample.json")
        assert done.code == 0, done.err


def run(application: Application, operation: str, *options: str) -> tuple[int, Any, str]:
    """In a process of its own, as each has one cloud: the exit code, what it says as JSON, and what else."""
    command = [sys.executable, "-c", "from oncekit.cli.main import main; main()", "run", f"events/{operation}.json"]
    done = subprocess.run(
        [*command, "--json", *options], cwd=application.folder, capture_output=True, text=True, timeout=120
    )
    return done.returncode, json.loads(done.stdout) if done.stdout else {}, done.stderr


NODE = "Runtime: nodejs22.x, Handler: app.handler, CodeUri: node/"
ANSWERS = {"node/app.js": "exports.handler = async (event) => ({ done: event.id })\n"}


def test_a_function_in_nodejs_runs_once_as_it_is_and_what_cannot_run_stops_nothing(empty: Application) -> None:
    add(empty, "Clerk", NODE, ANSWERS)
    add(empty, "Jvm", "Runtime: java21, Handler: 'shop.Pay::pay', CodeUri: java/")
    adopt(empty, "Clerk", "Jvm")
    code, told, said = run(empty, "clerk", "--times", "2")
    assert code == 0, said
    assert [each["disposition"] for each in told["executions"]] == ["EXECUTED", "REPLAYED"]
    assert told["executions"][0]["result"] == {"done": "1"}
    assert told["sideEffects"]["businessLogicStarts"] == {"clerk": 1}
    code, _, said = run(empty, "jvm")
    assert code == 2 and "template.yaml:6: operation jvm: its function Jvm is not run here: it has the Runtime" in said
    assert "Traceback" not in said
    assert "1 passed" in empty.pytest("tests/test_clerk.py", "-k", "runs_once").stdout
    failed = empty.pytest("tests/test_jvm.py", "-k", "runs_once").stdout
    assert "1 failed" in failed and "Jvm is not run here: it has the Runtime java21" in failed


@pytest.mark.parametrize(
    ("properties", "files", "said"),
    [
        (NODE, {"node/app.js": "require('left-pad')\n"}, "Cannot find module 'left-pad': run `sam build`, or `npm"),
        (
            "Runtime: python3.13, Handler: app.handler, CodeUri: py/",
            {"py/app.py": "import left_pad\n"},
            "No module named 'left_pad'",
        ),
    ],
)
def test_what_cannot_be_loaded_does_not_count_as_started(
    empty: Application, properties: str, files: dict[str, str], said: str
) -> None:
    add(empty, "Clerk", properties, files)
    adopt(empty, "Clerk")
    code, told, printed = run(empty, "clerk")
    assert code == 1 and said in printed
    assert told["sideEffects"]["businessLogicStarts"] == {}
