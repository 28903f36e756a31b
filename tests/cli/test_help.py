"""Help is asked for and written as people know it."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from commands import Done, once
from typer.main import get_command

from oncekit.cli.main import COMMANDS, COMPLETION, GROUPS, app

ROOT = Path(__file__).parents[2]


def told(*arguments: str) -> Done:
    return once(_no_stack, *arguments)


def _no_stack(*_: Any, **__: Any) -> Any:
    raise AssertionError("help needs no stack")


@pytest.mark.parametrize("command", COMMANDS)
def test_help_names_no_type_of_python_and_a_short_option_asks_for_it(command: str) -> None:
    short, long = told(command, "-h"), told(command, "--help")
    assert short == long and short.code == 0
    usage, _, rest = short.out.partition("\n")
    assert usage.startswith(f"Usage: once {command} [OPTIONS]") and "{" not in usage
    assert not re.search(r"<[a-z]", rest), "such as <list[str]>"


@pytest.mark.parametrize(("command", "arguments"), [("run", "EVENT..."), ("retry", "[ID]"), ("resolve", "ID")])
def test_usage_names_the_arguments(command: str, arguments: str) -> None:
    assert told(command, "-h").out.splitlines()[0] == f"Usage: once {command} [OPTIONS] {arguments}"


def test_list_of_commands_says_each_in_a_whole_sentence() -> None:
    sections = told("-h").out.split("\n\n")
    rows = [row for title in GROUPS for each in sections if title in each for row in each.splitlines()[1:]]
    assert [row.split()[0] for row in rows] == list(COMMANDS)
    assert all(row.endswith(".") and not row.endswith("...") for row in rows), "none is cut"


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command_ends_with_an_example_that_it_takes(command: str) -> None:
    *_, last = told(command, "-h").out.strip().splitlines()
    example = last.partition("Example: ")[2].removeprefix('eval "$(').removesuffix(')"')
    program, name, *arguments = shlex.split(example)
    assert (program, name) == ("once", command)
    parsed = get_command(app(*COMMANDS)).commands[command].make_context(command, arguments)  # type: ignore[attr-defined]
    assert not parsed.args


def test_a_shell_completes_commands_with_their_help(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(COMPLETION, "complete_fish")
    monkeypatch.setenv("_TYPER_COMPLETE_ARGS", "once ret")
    monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "get-args")
    assert told().out.startswith("retry\tStart a quarantined, ")


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("once ls --status ", ["IN_PROGRESS", "QUARANTINED"]),
        ("once run --lane fa", ["fast"]),
        ("once send --via e", ["eventbridge"]),
    ],
)
def test_a_shell_completes_values(monkeypatch: pytest.MonkeyPatch, line: str, values: list[str]) -> None:
    monkeypatch.setenv(COMPLETION, "complete_fish")
    monkeypatch.setenv("_TYPER_COMPLETE_ARGS", line)
    monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "get-args")
    assert sorted(told().out.split()) == sorted(values)


SLOW = {"boto3", "botocore", "moto", "rich.console", "pydantic", "yaml"}


def imported_by(program: str) -> set[str]:
    program = f"import sys\nfrom oncekit.cli.main import COMMANDS, app, main\n{program}\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    return set(done.stdout.split())


def test_help_waits_for_nothing_that_only_a_command_needs() -> None:
    assert not SLOW & imported_by("app(*COMMANDS)")


def test_a_command_waits_for_no_other() -> None:
    others = ("oncekit.cli.here", "oncekit.stack.health")
    assert not [name for name in imported_by('app("ls")') if name.startswith(others)]
