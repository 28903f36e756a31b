"""The command of the proof: each of its parts is where the command looks for it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from oncekit.proof import __main__ as command

ROOT = Path(__file__).parents[2]


def test_every_part_of_the_proof_is_there() -> None:
    """Their modules are named by text, which no type checker follows."""
    done = subprocess.run(
        [sys.executable, "-m", "oncekit.proof", "--help"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("arguments", "passed"), [(("--version",), True), (("--no-such-option",), False)])
def test_tests_of_the_proof_decide_its_end_and_print_into_its_json(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], arguments: tuple[str, ...], passed: bool
) -> None:
    monkeypatch.setattr(command, "TESTS", arguments)
    assert command.main(["--only", "tests", "--json"]) == int(not passed)
    [(part, result)] = json.loads(capfd.readouterr().out).items()
    assert (part, result["passed"]) == ("tests", passed)
    assert ("pytest" in "".join(result["lines"])) == passed
