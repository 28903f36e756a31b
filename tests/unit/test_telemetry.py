"""Logs and metrics say whom an attempt was for and how it ended, never its payload or result."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from once import Request
from once.settings import settings
from once.telemetry import Observation

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

    def tell(*outcomes: str) -> list[dict[str, Any]]:
        events = [
            event("greet", {"outcome": outcome, "secret": "4111111111111111"}, fence=number + 6) | {"attempt": number}
            for number, outcome in enumerate(outcomes, 1)
        ]
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
    begins, own, ended, metrics, after = told("fine")
    for line in (begins, own, ended):
        assert line["id"] == "acme#greet#key-1"
        assert line["execution"] == "arn:aws:states:us-east-1:123456789012:execution:Operation:one"
        assert (line["operation"], line["tenant"]) == ("greet", "acme")
        assert (line["attempt"], line["fence"], line["function_request_id"]) == (1, 7, "invocation-1")
    assert (metrics["id"], metrics["attempt"]) == ("acme#greet#key-1", 1)
    assert metrics["execution"] == begins["execution"]
    assert ended["disposition"] == "EXECUTED"
    assert "id" not in after, "an attempt's keys end with it"


def test_a_success_counts_its_duration_and_size(told: Any) -> None:
    metrics = told("fine")[3]
    assert metrics["service"] == "greet"
    [directive] = metrics["_aws"]["CloudWatchMetrics"]
    assert (directive["Namespace"], sorted(directive["Dimensions"][0])) == ("Once", ["Stack", "service"])
    assert metrics["Stack"] == "shop"
    assert metrics["Executed"] == [1.0]
    assert metrics["ResultBytes"] == [len('{"outcome":"fine","secret":"4111111111111111"}')]
    assert metrics["Duration"][0] >= 0


def test_a_duration_is_in_milliseconds_and_the_namespace_is_the_deployments(
    event: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POWERTOOLS_METRICS_NAMESPACE", "Shop")
    settings.cache_clear()
    seconds = iter([10.0, *[10.25] * 9])
    Observation(Request.from_event(event()), clock=lambda: next(seconds)).executed(2, offloaded=False)
    settings.cache_clear()
    [metrics] = [line for line in map(json.loads, capsys.readouterr().out.splitlines()) if "_aws" in line]
    assert metrics["Duration"] == [250.0]
    assert metrics["_aws"]["CloudWatchMetrics"][0]["Namespace"] == "Shop"


@pytest.mark.parametrize(
    ("outcome", "disposition"),
    [
        ("PermanentError", "PermanentError"),
        ("NeedsAttention", "NeedsAttention"),
        ("LockLostError", "LockLostError"),
        ("KeyError", "OtherError"),
    ],
)
def test_a_failure_is_counted_by_what_the_state_machine_makes_of_it(told: Any, outcome: str, disposition: str) -> None:
    _, _, ended, metrics, _ = told(outcome)
    assert (ended["disposition"], ended["error_name"]) == (disposition, outcome)
    assert metrics[disposition] == [1.0]
    assert "Executed" not in metrics


def test_only_an_unknown_error_is_logged_with_its_traceback(told: Any) -> None:
    lines = {line.get("error_name"): line for line in told("PermanentError", "KeyError") if "disposition" in line}
    assert lines["PermanentError"]["level"] == "WARNING"
    assert "exception" not in lines["PermanentError"]
    assert lines["KeyError"]["level"] == "ERROR"
    assert "Traceback" in lines["KeyError"]["exception"]


def test_an_attempt_is_told_apart_from_the_one_before_it_in_the_same_process(told: Any) -> None:
    ended = [line for line in told("KeyError", "fine") if "disposition" in line]
    assert [(line["attempt"], line["disposition"]) for line in ended] == [(1, "OtherError"), (2, "EXECUTED")]
