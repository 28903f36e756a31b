"""The bytes that a run logs: what its functions print, what Lambda adds, and what Step Functions logs of errors."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from oncekit.bench.cost.counting import LONGER_ON_AWS
from oncekit.bench.cost.prices import LOGIC_MS, OF_A_LINE

# Developer guide, "Using CloudWatch Logs to log execution history", the table of log levels.
ERRORS = (
    "EvaluationFailed", "ExecutionAborted", "ExecutionFailed", "ExecutionTimedOut", "FailStateEntered",
    "LambdaFunctionFailed", "LambdaFunctionScheduleFailed", "LambdaFunctionStartFailed", "LambdaFunctionTimedOut",
    "MapIterationAborted", "MapIterationFailed", "MapStateAborted", "MapStateFailed", "ParallelStateAborted",
    "ParallelStateFailed", "TaskFailed", "TaskStartFailed", "TaskStateAborted", "TaskSubmitFailed", "TaskTimedOut",
    "WaitStateAborted",
)  # fmt: skip
"""Events that a machine logs at the level ERROR, the template's default."""
_DATA = ("input", "output", "inputDetails", "outputDetails", "parameters")
"""Left out unless IncludeExecutionData is on. Error and cause are taken to be in: what AWS does is not said."""
_LIBRARY = Path(__file__).parents[3] / "shared"
_DURATION = re.compile(r'"Duration":[0-9.]+')
_ID = "00000000-0000-4000-8000-000000000000"
_OF_LAMBDA = (
    f"START RequestId: {_ID} Version: 1\n",
    f"END RequestId: {_ID}\n",
    f"REPORT RequestId: {_ID}\tDuration: 102.34 ms\tBilled Duration: 103 ms\t"
    "Memory Size: 512 MB\tMax Memory Used: 95 MB\t\n",
)


def bytes_of(lines: Iterable[str]) -> int:
    return sum(len(line.encode()) + OF_A_LINE for line in lines)


def as_on_lambda(line: str, function: Path) -> str:
    """A line that a function printed here, with the folders of Lambda and the duration that is assumed."""
    for here, there in ((function, "/var/task"), (_LIBRARY, "/opt/python")):
        line = line.replace(str(here), there)
    return _DURATION.sub(f'"Duration":{LOGIC_MS}.0', line)


def metrics_in(lines: Iterable[str]) -> int:
    """How many values of metrics CloudWatch takes out of these lines (embedded metric format)."""
    return sum(len(each["Metrics"]) for line in lines if '"_aws"' in line for each in _directives(line))


def _directives(line: str) -> list[dict[str, Any]]:
    directives: list[dict[str, Any]] = json.loads(line)["_aws"]["CloudWatchMetrics"]
    return directives


LAMBDAS_OWN_BYTES = bytes_of(_OF_LAMBDA)
"""Of one invocation that is not traced, in Lambda's text format."""


def of_events(arn: str, events: Iterable[Mapping[str, Any]]) -> list[str]:
    """What the machine of an execution logs of its events, at the level ERROR and without data."""
    return [_line(arn, event) for event in events if _type(event) in ERRORS]


def _line(arn: str, event: Mapping[str, Any]) -> str:
    told: Mapping[str, Any] = next((value for key, value in event.items() if key.endswith("EventDetails")), {})
    details = {key: value for key, value in told.items() if key not in _DATA}
    return json.dumps(
        {
            "id": str(event["id"]),
            "type": _type(event),
            "details": details,
            "previous_event_id": str(event.get("previousEventId", 0)),
            "event_timestamp": "1767225600000",
            "execution_arn": arn + "x" * LONGER_ON_AWS,
            "redrive_count": "0",
        },
        separators=(",", ":"),
        default=str,
    )


def _type(event: Mapping[str, Any]) -> str:
    kind = event["type"]
    return str(getattr(kind, "value", kind))
