"""What the README shows, done as it says."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gate.run import QUICK, findings

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
ONCE = [sys.executable, "-c", "from cli.main import main; main()"]


def once(*arguments: str, folder: Path = ROOT, stdin: str = "") -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "NO_COLOR": "1"}
    return subprocess.run(
        [*ONCE, *arguments], cwd=folder, input=stdin, capture_output=True, text=True, env=environment, timeout=120
    )


@pytest.fixture
def copy_of_the_project(tmp_path: Path) -> Path:
    for name in ("functions", "shared", "statemachine", "events"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "template.yaml", tmp_path)
    return tmp_path


def test_operation_added_as_the_readme_says_runs_and_lacks_only_its_alarms(copy_of_the_project: Path) -> None:
    [snippet] = re.findall(r"```yaml\n(.*?)```", README, re.DOTALL)
    assert len(snippet.splitlines()) <= 15
    [command] = re.findall(r"\$ echo '(.*)' \| once run -", README)
    template = copy_of_the_project / "template.yaml"
    head, outputs = template.read_text().split("\nOutputs:\n")
    template.write_text(f"{head}\n{snippet}\nOutputs:\n{outputs}")
    shutil.copytree(copy_of_the_project / "functions/build_report", copy_of_the_project / "functions/send_invoice")
    done = once("run", "-", "--json", folder=copy_of_the_project, stdin=command)
    assert done.returncode == 0, done.stderr
    [execution] = json.loads(done.stdout)["executions"]
    assert execution["disposition"] == "EXECUTED"
    found = [str(each) for each in findings(template, QUICK)]
    assert len(found) == 2
    assert all(each.startswith("template.yaml: SendInvoiceFunction: nothing alarms when") for each in found)


def test_changed_function_is_what_runs(copy_of_the_project: Path) -> None:
    charge = copy_of_the_project / "functions/build_report/app.py"
    charge.write_text("def handler(event, context):\n    return {'mine': event['payload']}\n")
    done = once("run", "events/build-report.json", "--json", folder=copy_of_the_project)
    [execution] = json.loads(done.stdout)["executions"]
    assert "mine" in execution["result"], done.stderr


def test_demo_prints_what_the_readme_shows() -> None:
    done = once("demo")
    assert done.returncode == 0, done.stdout
    [shown] = re.findall(r"\$ make demo\n(.*?)\n\d+ of \d+ checks held", README, re.DOTALL)
    assert shown.strip() in done.stdout


def test_picture_shows_every_state() -> None:
    picture = (ROOT / "docs/state-machine.svg").read_text()
    assert picture == once("graph").stdout


def test_commands_of_the_readme_are_those_of_the_help() -> None:
    told = re.findall(r"^\| `once ([\w-]+)", README, re.MULTILINE)
    shown = re.findall(r"^ {2}([\w-]+) ", once("--help").stdout.split("Commands:")[1], re.MULTILINE)
    assert sorted(told) == sorted(shown)
