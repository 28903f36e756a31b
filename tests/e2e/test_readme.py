"""What the README and the pages under docs/ show, done as they say."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from copies import copy_project
from machine_pictures import drawing

from oncekit.local.deployment.deploy import rendered_definitions

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
FUNCTIONS = (ROOT / "docs/functions.md").read_text()
TUTORIAL = (ROOT / "docs/first-operation.md").read_text()
SITE = (ROOT / "docs/index.md").read_text()
ONCE = [sys.executable, "-c", "from oncekit.cli.main import main; main()"]


def once(*arguments: str, folder: Path = ROOT, stdin: str = "") -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "NO_COLOR": "1"}
    return subprocess.run(
        [*ONCE, *arguments], cwd=folder, input=stdin, capture_output=True, text=True, env=environment, timeout=120
    )


@pytest.fixture
def copy_of_the_project(tmp_path: Path) -> Path:
    (tmp_path / "events").symlink_to(ROOT / "events")
    return copy_project(tmp_path)


@pytest.fixture
def with_send_invoice(copy_of_the_project: Path) -> Path:
    """The project with the operation that docs/functions.md adds, and with what it may have for steps."""
    snippet, more = re.findall(r"```yaml\n(.*?)```", FUNCTIONS, re.DOTALL)
    assert len(snippet.splitlines()) <= 15 and "Policies: [!Ref FunctionPolicy]" in snippet
    snippet = snippet.replace("Policies: [!Ref FunctionPolicy]", f"Policies:\n        - !Ref FunctionPolicy\n{more}")
    template = copy_of_the_project / "template.yaml"
    head, outputs = template.read_text().split("\nOutputs:\n")
    template.write_text(f"{head}\n{snippet}\nOutputs:\n{outputs}")
    shutil.copytree(copy_of_the_project / "functions/build_report", copy_of_the_project / "functions/send_invoice")
    return copy_of_the_project


def send_invoice(folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    [(request, named)] = re.findall(r"\$ echo '(.*)' \| once run - --parameter (\S+)", FUNCTIONS)
    given = json.dumps(json.loads(request) | more)
    return once("run", "-", "--json", "--parameter", named, folder=folder, stdin=given)


def test_operation_added_as_the_page_says_runs(with_send_invoice: Path) -> None:
    done = send_invoice(with_send_invoice)
    assert done.returncode == 0, done.stderr
    [execution] = json.loads(done.stdout)["executions"]
    assert execution["disposition"] == "EXECUTED"
    assert "may not" not in done.stderr


WRITES = """
import boto3

client = boto3.client("dynamodb")

def handler(event, context):
    client.put_item(TableName="once-OrdersTable", Item={"orderId": {"S": "1"}})
    return "written"
"""


def test_missing_permission_of_an_added_operation_is_told_as_the_page_says(with_send_invoice: Path) -> None:
    (with_send_invoice / "functions/send_invoice/app.py").write_text(WRITES)
    [shown] = re.findall(r"^✗ once_op-send-invoice .*$", FUNCTIONS, re.MULTILINE)
    refused = send_invoice(with_send_invoice, onCrash="quarantine")
    assert refused.returncode == 1
    *printed, told = refused.stderr.splitlines()
    assert told == shown
    assert printed and all(line.startswith("send-invoice | ") for line in printed), "what the function printed"
    [execution] = json.loads(refused.stdout)["executions"]
    assert "is not authorized to perform: dynamodb:PutItem on resource" in execution["cause"]


def test_changed_function_is_what_runs(copy_of_the_project: Path) -> None:
    charge = copy_of_the_project / "functions/build_report/app.py"
    charge.write_text("def handler(event, context):\n    return {'mine': event['payload']}\n")
    done = once("run", "events/build-report.json", "--json", folder=copy_of_the_project)
    [execution] = json.loads(done.stdout)["executions"]
    assert "mine" in execution["result"], done.stderr


@pytest.fixture(scope="module")
def demo() -> str:
    """What it prints."""
    done = once("demo")
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_each_chapter_of_the_demo_shows_a_path_and_each_charge_without_once(demo: str) -> None:
    *chapters, _ = demo.strip().split("\n\n")
    assert len(chapters) == 4
    for chapter in chapters:
        assert " → " in chapter, chapter
        assert (" with Once " in chapter and " without Once\n" in chapter) or chapter.startswith("A result of 2 MB")
    [crash] = [chapter for chapter in chapters if "crashes" in chapter]
    assert (crash.count("✗ ABORTED"), crash.count("TakeNextFence")) == (1, 1)


def test_demo_prints_what_the_pages_show(demo: str) -> None:
    for page in (README, TUTORIAL, SITE):
        [shown] = re.findall(
            r"^\$ make demo\n\n?(?:\.\.\.\n)?(.*?\n\d+ of \d+ checks held)", page, re.DOTALL | re.MULTILINE
        )
        place = 0
        for part in shown.split("\n...\n"):
            place = demo.find(part, place)
            assert place >= 0, part
            place += len(part)


def test_the_same_request_twice_prints_what_the_tutorial_shows() -> None:
    done = once("run", "events/charge-payment.json", "--times", "2")
    [shown] = re.findall(r"\$ once run events/charge-payment.json --times 2\n(.*?)```", TUTORIAL, re.DOTALL)

    def alike(text: str) -> list[str]:
        lines = (re.sub(r"\b[0-9a-f]{8}\b", "name", line) for line in text.splitlines())
        return [re.sub(r" +", " ", line) for line in lines if line]

    printed = alike(done.stdout + done.stderr)
    for line in alike(shown):  # a terminal cuts a long result
        assert any(each.startswith(line.rstrip("…")) for each in printed), line


@pytest.mark.parametrize(("file", "machine"), [("state-machine.svg", "operation"), ("fast-lane.svg", "fast")])
def test_picture_shows_every_state(file: str, machine: str) -> None:
    """`make pictures` draws them."""
    definition = rendered_definitions(ROOT / "template.yaml")[machine]
    assert (ROOT / "docs" / file).read_text() == drawing(definition, f"State machine {machine}")


def test_commands_of_the_page_are_those_of_the_help() -> None:
    told = re.findall(r"^\| `once ([\w-]+)", (ROOT / "docs/commands.md").read_text(), re.MULTILINE)
    shown = re.findall(r"^ {2}([a-z]+) +[A-Z]", once("--help").stdout, re.MULTILINE)
    assert sorted(told) == sorted(shown)
