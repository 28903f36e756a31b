"""`once run` as a script or a person meets it: a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FIELDS = ["name", "status", "disposition", "error", "cause", "attempt", "result", "resultRef", "states", "transitions"]


def once(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from oncekit.cli.main import main; main()", *arguments],
        cwd=ROOT,
        input=stdin,
        capture_output=True,
        text=True,
        env={**os.environ, "NO_COLOR": "1"},
        timeout=120,
    )


def test_json_is_one_object_with_what_happened() -> None:
    done = once("run", "events/charge-payment.json", "--times", "2", "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    first, second = report["executions"]
    assert list(first) == FIELDS
    assert (first["disposition"], second["disposition"]) == ("EXECUTED", "REPLAYED")
    assert first["result"] == second["result"]
    assert report["sideEffects"]["businessLogicStarts"] == {"charge-payment": 1}
    assert report["sideEffects"]["tables"]["ProviderLedgerTable"] == 1


def test_table_says_what_each_execution_came_to() -> None:
    done = once("run", "events/charge-payment.json", "--times", "5", "--concurrently")
    assert done.returncode == 0, "the duplicates that did not wait have an answer, too"
    assert done.stdout.count("EXECUTED") == 1
    assert "started once" in done.stdout
    assert "\x1b" not in done.stdout + done.stderr


def test_every_bad_event_fails_with_a_message_and_exits_with_one() -> None:
    events = sorted(str(path) for path in (ROOT / "events/bad").glob("*.json"))
    done = once("run", *events, "--json")
    assert done.returncode == 1
    for event, execution in zip(events, json.loads(done.stdout)["executions"], strict=True):
        assert execution["error"] in ("InvalidRequest", "NeedsAttention", "OperationFailed"), event
        assert json.loads(execution["cause"])["message"], event


def test_conflict_exits_with_three(tmp_path: Path) -> None:
    request = json.loads((ROOT / "events/charge-payment.json").read_text())
    other = tmp_path / "other.json"
    other.write_text(json.dumps({**request, "payload": {**request["payload"], "amount": 1}}))
    done = once("run", "events/charge-payment.json", str(other))
    assert done.returncode == 3, done.stderr
    assert "PayloadMismatch" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "stdin", "words"),
    [
        (["no-such-file.json"], "", ["no-such-file.json", "No such file"]),
        (["-"], "{not json", ["not JSON", "line 1"]),
        (["events/charge-payment.json", "--template", "nowhere.yaml"], "", ["nowhere.yaml"]),
    ],
)
def test_what_a_user_can_fix_is_said_without_a_traceback(arguments: list[str], stdin: str, words: list[str]) -> None:
    done = once("run", *arguments, stdin=stdin)
    assert done.returncode == 2
    assert all(word in done.stderr for word in words)
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
