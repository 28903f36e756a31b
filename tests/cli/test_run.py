"""`once run` as a script or a person meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from cli.main import app

ROOT = Path(__file__).parents[2]


def once(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(app, arguments, input=stdin)


@pytest.fixture(autouse=True)
def in_the_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def test_json_is_one_object_with_what_happened() -> None:
    done = once("run", "events/charge-payment.json", "--times", "2", "--json")
    assert done.exit_code == 0
    report = json.loads(done.stdout)
    first, second = report["executions"]
    assert set(first) == {
        "name",
        "status",
        "disposition",
        "error",
        "cause",
        "attempt",
        "result",
        "resultRef",
        "states",
        "transitions",
    }
    assert (first["disposition"], second["disposition"]) == ("EXECUTED", "REPLAYED")
    assert first["result"] == second["result"]
    assert report["sideEffects"]["businessLogicStarts"] == {"charge-payment": 1}
    assert report["sideEffects"]["tables"]["ProviderLedgerTable"] == 1


def test_table_says_what_each_execution_came_to() -> None:
    done = once("run", "events/charge-payment.json", "--times", "5", "--concurrently")
    assert done.stdout.count("EXECUTED") == 1
    assert "started once" in done.stdout


@pytest.mark.parametrize(
    ("event", "code"),
    [
        ("hash-in-tenant", 1),
        ("null", 1),
        ("array-of-two", 1),
        ("unknown-operation", 1),
        ("payload-refused-by-schema", 1),
    ],
)
def test_refused_request_exits_with_one(event: str, code: int) -> None:
    assert once("run", f"events/bad/{event}.json", "--json").exit_code == code


def test_conflict_exits_with_three(tmp_path: Path) -> None:
    request = json.loads(Path("events/charge-payment.json").read_text())
    other = tmp_path / "other.json"
    other.write_text(json.dumps({**request, "payload": {**request["payload"], "amount": 1}}))
    done = once("run", "events/charge-payment.json", str(other))
    assert done.exit_code == 3
    assert "PayloadMismatch" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "stdin", "words"),
    [
        (["no-such-file.json"], None, ["no-such-file.json", "No such file"]),
        (["-"], "{not json", ["not JSON", "line 1"]),
        (["events/charge-payment.json", "--template", "nowhere.yaml"], None, ["nowhere.yaml"]),
    ],
)
def test_what_a_user_can_mend_is_said_without_a_traceback(
    arguments: list[str], stdin: str | None, words: list[str]
) -> None:
    from cli.problem import Problem

    done = once("run", *arguments, stdin=stdin)
    assert isinstance(done.exception, Problem)
    assert all(word in str(done.exception) for word in words)
