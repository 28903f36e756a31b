"""How what was sent ended: by an execution, or by the record of an operation in progress."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from oncekit.cli.deployed.records.record import Missing, find, has_expired
from oncekit.cli.deployed.stack import Stack
from oncekit.cli.outcomes import message_in

FIRST_LOOK, LAST_LOOK = 0.2, 5.0
"""Seconds between looks: DescribeExecution is limited to some ten a second, for everybody in the account."""


class TooLong(Exception):
    """What was waited for has no end yet."""


@dataclass(frozen=True)
class Ended:
    """An outcome: a disposition, an error or a record's status; `result` is JSON text, `message` why it failed."""

    of: str
    outcome: str
    result: str | None = None
    result_ref: dict[str, Any] | None = None
    message: str | None = None

    def as_json(self) -> dict[str, Any]:
        told = asdict(self) | {"result": json.loads(self.result) if self.result is not None else None}
        return {"resultRef" if name == "result_ref" else name: value for name, value in told.items()}


def execution_end(stack: Stack, arn: str, seconds: float) -> Ended:
    """How an execution of the operation machine ended. Raises TooLong."""
    from botocore.exceptions import ClientError

    client = stack.client("stepfunctions")

    def look() -> Ended | None:
        try:
            described = client.describe_execution(executionArn=arn)
        except ClientError as refused:
            if refused.response["Error"]["Code"] != "ExecutionDoesNotExist":
                raise
            return None  # AWS may describe what was started just now a little later
        return None if described["status"] == "RUNNING" else ended(described)

    return _until(look, seconds, f"{arn}: still without an end after {seconds:g} s; it goes on by itself")


def ended(described: Mapping[str, Any]) -> Ended:
    """The end that DescribeExecution or StartSyncExecution tells."""
    arn, status = described["executionArn"], described["status"]
    if status != "SUCCEEDED":
        return Ended(arn, described.get("error") or status, message=message_in(described.get("cause")))
    output = json.loads(described["output"])
    return Ended(arn, output["disposition"], output.get("result"), output.get("resultRef"))


def record_end(stack: Stack, id: str, seconds: float) -> Ended:
    """What the record says at last of an operation that is in progress. Raises TooLong."""

    def look() -> Ended | None:
        try:
            record = find(stack, id)
        except Missing:
            return None
        if record["status"] == "IN_PROGRESS" or has_expired(stack, record):
            return None
        message = f"{record['error']['name']}: {record['error']['message']}" if "error" in record else None
        return Ended(id, str(record["status"]), record.get("result"), record.get("resultRef"), message)

    return _until(look, seconds, f"{id}: still in progress after {seconds:g} s; it goes on by itself")


def _until(look: Callable[[], Ended | None], seconds: float, too_long: str) -> Ended:
    waited, pause = 0.0, FIRST_LOOK
    while (found := look()) is None:
        if waited >= seconds:
            raise TooLong(too_long)
        time.sleep(pause)
        waited, pause = waited + pause, min(pause * 1.5, LAST_LOOK)
    return found
