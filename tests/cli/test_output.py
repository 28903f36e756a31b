"""What functions print is seen where a developer looks: as lines, tracebacks included, metrics left out."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from oncekit.cli.here.run import printed
from oncekit.cli.output import Attempts, lines_of
from oncekit.local import LocalCloud

LOGGED = {"level": "ERROR", "message": "'y'", "exception": "Traceback\n  File x\nKeyError: 'y'", "service": "s"}


NODE = {
    "errorType": "TypeError",
    "errorMessage": "no",
    "stack": ["TypeError: no", "    at app.js:1", "    at node:internal"],
}


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("printed by hand", ["printed by hand"]),
        ("[ERROR] KeyError: 'y'\rTraceback\r  File x", ["[ERROR] KeyError: 'y'", "Traceback", "  File x"]),
        (json.dumps(LOGGED), ["ERROR 'y'", "Traceback", "  File x", "KeyError: 'y'"]),
        (json.dumps({"level": "INFO", "message": "charged"}), ["INFO charged"]),
        (json.dumps({"_aws": {}, "Executed": [1]}), []),
        ("[1, 2]", ["[1, 2]"]),
        (
            "[WARNING]\t2026-01-01T00:00:00.000Z\t\tLAMBDA",
            ["[WARNING]       2026-01-01T00:00:00.000Z                LAMBDA"],
        ),
        (f"2026\tid\tERROR\tInvoke Error \t{json.dumps(NODE)}", ["[ERROR] TypeError: no", "    at app.js:1"]),
        (
            f"2026\tid\tERROR\tInvoke Error \t{json.dumps({**NODE, 'cause': 'ENOTFOUND: a.example'})}",
            ["[ERROR] TypeError: no (cause: ENOTFOUND: a.example)", "    at app.js:1"],
        ),
        (f"2026\tid\tERROR\tInvoke Error \t{json.dumps({'stack': 1})}", ["[ERROR] None: None"]),
        ("a\t1\r\tb", ["a       1", "        b"]),
    ],
)
def test_a_line_is_made_readable(line: str, shown: list[str]) -> None:
    assert lines_of(line) == shown


def test_an_error_that_the_library_has_logged_is_told_once() -> None:
    attempts = Attempts()
    assert attempts.lines_of(json.dumps(LOGGED))[0] == "ERROR 'y'"
    assert attempts.lines_of("[ERROR] KeyError: 'y'\rTraceback\r  File x") == []


def test_what_lambda_warns_of_where_code_cannot_be_loaded_is_left_out(cloud: LocalCloud, tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("import left_pad")
    cloud.add_function("broken", tmp_path)
    cloud.functions.invoke(FunctionName="once_op-broken")
    assert any("LAMBDA_WARNING" in line for line in cloud.logs("broken"))
    told = "\n".join(printed(cloud))
    assert "No module named 'left_pad'" in told and "LAMBDA_WARNING" not in told


def test_each_later_attempt_that_fails_as_the_one_before_has_one_line(cloud: LocalCloud, tmp_path: Path) -> None:
    """Of a function that knows nothing of Once, so that the runtime client alone tells of its errors."""
    (tmp_path / "app.py").write_text("def handler(event, context):\n    return event['attempt'] // 0\n")
    cloud.add_function("fails", tmp_path)
    cloud.run({"operation": "fails", "idempotencyKey": "k", "payload": {}})
    record = cloud.record("default#fails#k")
    assert record is not None and record["attempts"] > 2
    later = int(record["attempts"]) - 1
    error, *traceback = (lines := list(printed(cloud)))[:-later]
    assert error == "fails | [ERROR] ZeroDivisionError: integer division or modulo by zero"
    assert traceback[0] == "fails | Traceback (most recent call last):" and "return event['attempt']" in traceback[-1]
    assert lines[-later:] == [f"{error} (the same traceback as above)"] * later


@pytest.mark.skipif(shutil.which("node") is None, reason="this machine has no Node.js")
def test_each_later_attempt_in_nodejs_that_fails_as_the_one_before_has_one_line(
    cloud: LocalCloud, tmp_path: Path
) -> None:
    (tmp_path / "app.js").write_text("exports.handler = async (event) => event.missing.member\n")
    cloud.add_function("fails", tmp_path)
    cloud.run({"operation": "fails", "idempotencyKey": "k", "payload": {}})
    error, line, *later = printed(cloud)
    assert error.startswith("fails | [ERROR] TypeError: Cannot read properties of undefined")
    assert line.startswith("fails |     at exports.handler") and "app.js:1:" in line
    assert later and set(later) == {f"{error} (the same traceback as above)"}


def test_an_attempt_that_ends_without_a_word_is_told_of(cloud: LocalCloud, tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("import os\ndef handler(event, context):\n    print('begun')\n    os._exit(3)\n")
    cloud.add_function("dies", tmp_path)
    cloud.run({"operation": "dies", "idempotencyKey": "k", "payload": {}, "onCrash": "quarantine"})
    begun, died = printed(cloud)
    assert begun == "dies | begun" and died.endswith("Error: Runtime exited with error: exit status 3")


FUNCTION = """
from aws_lambda_powertools import Logger
from once import operation

@operation()
def handler(request):
    for n in range(request.payload["lines"]):
        print("line", n)
    Logger().info("charged", amount=3)
    return {}
"""


def run(cloud: LocalCloud, folder: Path, lines: int) -> list[str]:
    (folder / "app.py").write_text(FUNCTION)
    cloud.add_function("talks", folder)
    ended = cloud.run({"operation": "talks", "idempotencyKey": str(lines), "payload": {"lines": lines}})
    assert ended.status == "SUCCEEDED", ended
    return list(printed(cloud))


def test_a_function_that_succeeds_is_heard_and_the_library_is_not(cloud: LocalCloud, tmp_path: Path) -> None:
    assert run(cloud, tmp_path, 2) == ["talks | line 0", "talks | line 1", "talks | INFO charged"]
