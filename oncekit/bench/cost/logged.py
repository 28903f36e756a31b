"""The bytes that a run logs: what its functions print, and what Step Functions logs of errors."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from oncekit.bench.cost.prices import LOGIC_MS, OF_A_LINE

LONGER_ON_AWS = 7
"""CloudFormation ends a machine's name in 12 characters, the local cloud in `local`; the owner is an ARN with it."""
_ERRORS = re.compile(
    r"(Task|Map|Parallel|Wait|Execution|Lambda|Evaluation)\w*(Failed|Aborted|TimedOut)|FailStateEntered"
)
"""Events that a machine logs at the level ERROR, the template's default: developer guide, "Using CloudWatch Logs to log
execution history", the table of log levels."""
_DATA = ("input", "output", "inputDetails", "outputDetails", "parameters")
"""Left out unless ExecutionLog is DATA. Error and cause are taken to be in: what AWS does is not said."""
_REQUEST_ID = f"; Request ID: {'x' * 52}"
"""What the cause of a service's refusal has on AWS besides: an id of DynamoDB's, as its error messages show it."""
_LIBRARY = Path(__file__).parents[3] / "shared"
_DURATION = re.compile(r'"Duration":[0-9.]+')


def bytes_of(lines: Iterable[str]) -> int:
    return sum(len(line.encode()) + OF_A_LINE for line in lines)


def as_on_lambda(line: str, function: Path) -> str:
    """A line that a function printed here, with the folders of Lambda and the duration that is assumed."""
    for here, there in ((function, "/var/task"), (_LIBRARY, "/opt/python")):
        line = line.replace(str(here), there)
    return _DURATION.sub(f'"Duration":{LOGIC_MS}.0', line)


def of_events(arn: str, events: Iterable[Mapping[str, Any]]) -> list[str]:
    """What the machine of an execution logs of its events, at the level ERROR and without data."""
    return [_line(arn, event) for event in events if _ERRORS.fullmatch(_type(event))]


def _line(arn: str, event: Mapping[str, Any]) -> str:
    told: Mapping[str, Any] = next((value for key, value in event.items() if key.endswith("EventDetails")), {})
    details = {key: value for key, value in told.items() if key not in _DATA}
    if "(Service: " in str(details.get("cause")):
        details["cause"] += _REQUEST_ID
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
