"""Nothing that producers and functions write is obeyed by an operator's terminal, whatever command shows it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from commands import Done
from copies import copy_project
from evil import EVIL, SEEN, assert_calm, python
from logged import logged, own
from operating import ID, Operator, put


def assert_shown_calmly(done: Done, code: int = 0) -> None:
    assert done.code == code, done.err
    assert_calm(done.out)
    assert_calm(done.err)


# ---- every command ----

WHOLE, WHOLE_SEEN = EVIL.replace("\ud800", ""), SEEN.replace(r"\ud800", "")
"""DynamoDB keeps UTF-8, which has no half of a pair. JSON in S3 has."""
A_KEY = f"acme#told#{WHOLE}"


def evil_record(operator: Operator, id: str = A_KEY, status: str = "QUARANTINED", name: str = "gone") -> str:
    owner = operator.cloud.outputs["StateMachineArn"].replace(":stateMachine:", ":execution:") + f":{name}"
    error = {"M": {"name": {"S": f"Name{WHOLE}"}, "message": {"S": f"message {WHOLE}"}}}
    steps = {"M": {f"step{WHOLE}": {"M": {"result": {"S": WHOLE}}}}}
    texts = {"acquiredAt": WHOLE, "onCrash": WHOLE, "result": WHOLE, "finishedAt": WHOLE, "owner": owner}
    put(operator, id, status, 0, error=error, steps=steps, **{name: {"S": value} for name, value in texts.items()})
    return id


def refuse(operator: Operator) -> None:
    bad = operator.request() | {f"unknown{EVIL}": EVIL, "idempotencyKey": f"k{EVIL}"}
    operator.keep_refused("a", "InvalidRequest", message=f"unknown field {EVIL}", executionArn=EVIL, input=bad)
    operator.keep_refused("b", f"E{EVIL}", message=EVIL, executionArn=EVIL)
    operator.put_object("rejected/c", b"\x1b]52")


def test_ls_shows_one_row_for_one_record(operator: Operator) -> None:
    evil_record(operator)
    put(operator, "acme#told#z", "IN_PROGRESS", 0)
    done = operator.once("ls")
    assert_shown_calmly(done)
    head, *rows, _ = done.out.splitlines()
    assert len(rows) == 2 and sum(WHOLE_SEEN in row for row in rows) == 1
    at = head.index("status")
    assert {row[at:].split()[0] for row in rows} == {"QUARANTINED", "IN_PROGRESS"}, "the columns stand straight"


def test_show_has_its_lines_and_no_other(operator: Operator) -> None:
    evil_record(operator)
    done = operator.once("show", A_KEY)
    assert_shown_calmly(done)
    assert done.out.splitlines()[0] == f"acme#told#{WHOLE_SEEN}  QUARANTINED"
    assert f"Name{WHOLE_SEEN}: message {WHOLE_SEEN}" in done.out and f"step{WHOLE_SEEN}" in done.out


def test_what_an_evil_function_logged_and_raised_is_shown_calmly(operator: Operator) -> None:
    operator.script({"raise": WHOLE.replace("\0", "")})
    operator.cloud.run(operator.request() | {"payload": {WHOLE: WHOLE}})
    with logged(operator, [(0, own(WHOLE)), (1, WHOLE), (2, own("end"))]):
        done = operator.once("show", ID)
        assert_shown_calmly(done)
        assert r" | WARNING" in done.out and r"\u202e" in done.out
        assert_calm(operator.once("show", ID, "--json").out)
    for id in (f"none#told#{WHOLE}", f"none#{WHOLE}#k"):
        assert_shown_calmly(operator.once("show", id), 2)


@pytest.mark.parametrize("arguments", [["ls", "--json"], ["show", A_KEY, "--json"], ["retry", "--rejected", "--json"]])
def test_json_of_evil_things_is_ascii_and_means_the_same(operator: Operator, arguments: list[str]) -> None:
    evil_record(operator)
    refuse(operator)
    done = operator.once(*arguments)
    assert_calm(done.out)
    assert done.out.isascii()
    assert any(WHOLE in text or EVIL in text for text in texts_of(json.loads(done.out)))


def texts_of(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for pair in value.items() for each in pair for text in texts_of(each)]
    return [text for each in value for text in texts_of(each)] if isinstance(value, list) else [str(value)]


def test_refused_requests_have_one_row_each_and_are_shown_calmly(operator: Operator) -> None:
    refuse(operator)
    for command, code in (("ls", 0), ("retry", 1)):
        done = operator.once(command, "--rejected")
        assert_shown_calmly(done, code)
        rows = [line.split()[1] for line in done.out.splitlines() if line.startswith(("✗", "↻", "✓"))]
        assert sorted(rows) == ["NO_INPUT", "REFUSED_AGAIN", "UNREADABLE"] and SEEN in done.out
    assert_shown_calmly(operator.once("release", "--rejected", "--error", f"E{EVIL}", "--yes"))


def test_send_and_its_mistakes_are_told_calmly(operator: Operator) -> None:
    event = operator.file(json.dumps(operator.request()), "event\x1b[2J\nforged.json")
    assert_shown_calmly(operator.once("send", event))
    operator.script({"raise": WHOLE})
    done = operator.once("send", operator.file(json.dumps(operator.request() | {"idempotencyKey": "e"})), "--wait")
    assert_shown_calmly(done, done.code)
    assert SEEN[:5] in done.out
    operator.cloud.settle()
    for arguments in (["/none/" + EVIL], [event, "--via", EVIL], [event, "--stack", "a\u202eb"]):
        assert_shown_calmly(operator.once("send", *arguments), 2)
    assert_shown_calmly(operator.once("send", operator.file(f'{{"{EVIL[:9]}', "bad.json")), 2)


def test_what_a_library_prints_in_a_command_passes_the_same_rule(
    operator: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    def prints(**_: Any) -> None:
        print(EVIL)
        print(EVIL, file=sys.stderr)

    monkeypatch.setattr("oncekit.cli.main.app", lambda *_: prints)
    done = operator.once("ls")
    assert not {"\x1b", "\x9b", "\r", "\t", "\u202e", "\ud800"} & set(done.out + done.err)
    assert r"a\x1b]52" in done.out and r"a\x1b]52" in done.err


def test_an_error_of_usage_is_told_calmly(operator: Operator) -> None:
    for arguments in (["ls", "--limit", EVIL], ["ls", f"--no{EVIL}"], [f"no{EVIL}"]):
        done = operator.once(*arguments)
        assert done.code == 2
        assert not {"\x1b", "\x9b", "\u202e", "\ud800"} & set(done.err + done.out)


# ---- the local cloud, with functions that are written by others ----

FUNCTION = f"""
import sys

EVIL = {EVIL!a}

def handler(event, context):
    sys.stdout.buffer.write(EVIL.encode("utf-8", "surrogatepass") + b"\\n\\xff\\x9b2J\\n")
    sys.stdout.flush()
    raise type("Bad\\x1b[2J", (Exception,), {{}})(EVIL)
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An application whose function prints and raises what a terminal would obey."""
    folder = tmp_path_factory.mktemp("project")
    copy_project(folder)
    (folder / "functions/charge_payment/app.py").write_text(FUNCTION)
    request = {
        "operation": "charge-payment",
        "idempotencyKey": "k",
        "payload": {"orderId": "1"},
        "onCrash": "quarantine",
    }
    (folder / "event.json").write_text(json.dumps(request))
    bad = {"operation": "charge-payment", "idempotencyKey": "k", "payload": {}, f"unknown{EVIL}": EVIL}
    (folder / "bad.json").write_text(json.dumps(bad))
    return folder


def test_functions_output_and_errors_are_shown_calmly(project: Path) -> None:
    arguments = ("run", "event.json", "bad.json")
    done = python("from oncekit.cli.main import main; main()", *arguments, cwd=project, PYTHONIOENCODING="utf-8")
    err = done.stderr.decode()
    assert_calm(done.stdout.decode())
    assert_calm(err)
    assert done.returncode == 1 and r"charge-payment | " in err and r"\x1b]52" in err
