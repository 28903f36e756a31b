"""Logs and metrics say whom an attempt was for and how it ended, never its payload or result."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from once import Request
from once.settings import settings
from once.telemetry import Observation, execution_of

ROOT = Path(__file__).parents[2]
PROGRAM = """
import json, sys, types
from aws_lambda_powertools import Logger
from once import LockLostError, NeedsAttention, PermanentError, Request, operation

@operation()
def handler(request: Request):
    Logger().info("a line of business logic")
    outcome = request.payload["outcome"]
    if outcome != "fine":
        raise {"PermanentError": PermanentError, "NeedsAttention": NeedsAttention, "LockLostError": LockLostError,
               "KeyError": KeyError}[outcome]("no")
    return request.payload

for event in json.loads(sys.argv[1]):
    try:
        handler(event, types.SimpleNamespace(aws_request_id="invocation-1"))
    except Exception:
        pass
Logger().info("after")
"""


@pytest.fixture
def told(event: Any) -> Any:
    """What a process prints that runs one attempt for each outcome."""

    def tell(*outcomes: str, owner: str | None = None) -> list[dict[str, Any]]:
        events = [
            event("greet", {"outcome": outcome, "secret": "4111111111111111"}, fence=number + 6) | {"attempt": number}
            for number, outcome in enumerate(outcomes, 1)
        ]
        for each in events:
            each["lock"]["owner"] = owner or each["lock"]["owner"]
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, json.dumps(events)],
            env={"PYTHONPATH": str(ROOT / "shared"), "POWERTOOLS_SERVICE_NAME": "greet", "ONCE_STACK": "shop"},
            capture_output=True,
            text=True,
            check=True,
        )
        assert "4111111111111111" not in done.stdout + done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    return tell


def test_every_line_of_an_attempt_names_it(told: Any) -> None:
    own, ended, after = told("fine")
    for line in (own, ended):
        assert (line["id"], line["execution"]) == ("acme#greet#key-1", "one")
        assert (line["attempt"], line["fence"], line["function_request_id"]) == (1, 7, "invocation-1")
    assert (own["operation"], own["tenant"]) == ("greet", "acme")
    assert "lane" not in own | ended
    assert "id" not in after, "an attempt's keys end with it"


def test_every_line_of_an_attempt_in_the_direct_lane_says_so(told: Any) -> None:
    own, ended, after = told("fine", owner="direct:greet:request-1:nonce")
    assert {(line["lane"], line["execution"]) for line in (own, ended)} == {("direct", "request-1")}
    assert "lane" not in after


def test_an_execution_in_the_fast_lane_is_named_without_the_machine_and_the_nonce(event: Any) -> None:
    given = event()
    given["lock"]["owner"] = "arn:aws:states:us-east-1:123456789012:express:Fast:name:id:nonce"
    assert execution_of(Request.from_event(given)) == "name:id"


def test_a_success_counts_its_duration_and_size(told: Any) -> None:
    ended = told("fine")[1]
    assert ended["disposition"] == "EXECUTED"
    assert not {"level", "message"} & set(ended), "each byte is paid for"
    assert ended["service"] == "greet"
    [directive] = ended["_aws"]["CloudWatchMetrics"]
    assert (directive["Namespace"], sorted(directive["Dimensions"][0])) == ("Once", ["Stack", "service"])
    assert {each["Name"]: each.get("Unit") for each in directive["Metrics"]} == {
        "Executed": None,
        "ResultBytes": "Bytes",
        "Duration": "Milliseconds",
    }
    assert ended["Stack"] == "shop"
    assert ended["Executed"] == 1
    assert ended["ResultBytes"] == len('{"outcome":"fine","secret":"4111111111111111"}')
    assert ended["Duration"] >= 0
    assert abs(ended["_aws"]["Timestamp"] / 1000 - time.time()) < 600


def test_a_duration_is_in_milliseconds_and_the_namespace_is_the_deployments(
    event: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POWERTOOLS_METRICS_NAMESPACE", "Shop")
    settings.cache_clear()
    seconds = iter([10.0, *[10.25] * 9])
    Observation(Request.from_event(event()), clock=lambda: next(seconds)).executed(2, offloaded=True)
    settings.cache_clear()
    told = json.loads(capsys.readouterr().out)
    assert (told["Duration"], told["offloaded"]) == (250.0, True)
    assert told["_aws"]["CloudWatchMetrics"][0]["Namespace"] == "Shop"
    assert told["_aws"]["CloudWatchMetrics"][0]["Dimensions"] == [["service"]], "without a stack there is none"


def test_a_failure_is_counted_by_what_the_state_machine_makes_of_it(told: Any) -> None:
    """Only an unknown error is logged with its traceback."""
    counted_as = {each: each for each in ("PermanentError", "NeedsAttention", "LockLostError")}
    counted_as["KeyError"] = "OtherError"
    ended = {line["error_name"]: line for line in told(*counted_as) if "disposition" in line}
    assert {name: line["disposition"] for name, line in ended.items()} == counted_as
    assert all(line[line["disposition"]] == 1 and "Executed" not in line for line in ended.values())
    assert (ended["PermanentError"]["level"], ended["KeyError"]["level"]) == ("WARNING", "ERROR")
    assert [name for name, line in ended.items() if "exception" in line] == ["KeyError"]
    assert "Traceback" in ended["KeyError"]["exception"]
