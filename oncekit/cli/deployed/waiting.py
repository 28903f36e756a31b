"""Waits for what was sent: for the end of an execution, or for a record that has an answer."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from oncekit.cli.deployed.records import Missing, find
from oncekit.cli.deployed.sending import DIRECT
from oncekit.cli.deployed.stack import Stack
from oncekit.cli.outcomes import CONFLICTS, message_in
from oncekit.console.requests import id_in
from oncekit.local.lanes import FAST, Lane

FIRST_LOOK, LAST_LOOK = 0.2, 5.0
"""Seconds between looks: DescribeExecution is limited to some ten a second, for everybody in the account."""


class TooLong(Exception):
    """What was waited for has no end yet."""


@dataclass(frozen=True)
class Ended:
    """An outcome: a disposition, an error or a record's status; `result` is JSON text, `message` why it failed."""

    of: str
    outcome: str
    code: int
    result: str | None = None
    result_ref: dict[str, Any] | None = None
    message: str | None = None

    def as_json(self) -> dict[str, Any]:
        told = asdict(self) | {"result": json.loads(self.result) if self.result is not None else None}
        return {"resultRef" if name == "result_ref" else name: value for name, value in told.items() if name != "code"}


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
        status = described["status"]
        if status in ("RUNNING", "PENDING_REDRIVE"):
            return None
        if status != "SUCCEEDED":
            error = described.get("error") or status
            return Ended(arn, error, 3 if error in CONFLICTS else 1, message=message_in(described.get("cause")))
        output = json.loads(described["output"])
        disposition = output["disposition"]
        code = 3 if disposition == "IN_PROGRESS" else 0
        return Ended(arn, disposition, code, output.get("result"), output.get("resultRef"))

    return _until(look, seconds, arn)


def record_end(stack: Stack, id: str, seconds: float) -> Ended:
    """What the record of an id says at last. Raises TooLong."""

    def look() -> Ended | None:
        try:
            record = find(stack, id)
        except Missing:  # not there yet
            return None
        if record["status"] == "IN_PROGRESS":
            return None
        message = f"{record['error']['name']}: {record['error']['message']}" if "error" in record else None
        code = 0 if record["status"] == "COMPLETED" else 1
        return Ended(id, record["status"], code, record.get("result"), record.get("resultRef"), message)

    return _until(look, seconds, id)


def can_be_asked(via: str, lane: Lane | None) -> bool:
    """Whether an execution tells its end: nobody is told that of an event or a message; Express ones tell nothing."""
    return via == DIRECT and lane != FAST


def ends(stack: Stack, request: str, done: dict[str, Any], lane: Lane | None, seconds: float) -> Iterator[Ended]:
    """How what `sending.send` has sent ended; where no execution can be asked, what the record says at last."""
    if can_be_asked(done["via"], lane):
        yield from (execution_end(stack, arn, seconds) for arn in done["sent"])
    else:
        yield record_end(stack, id_in(request) or "", seconds)


def _until(look: Callable[[], Ended | None], seconds: float, what: str) -> Ended:
    waited, pause = 0.0, FIRST_LOOK
    while (found := look()) is None:
        if waited >= seconds:
            raise TooLong(f"{what}: still without an end after {seconds:g} s; it goes on by itself")
        time.sleep(pause)
        waited, pause = waited + pause, min(pause * 1.5, LAST_LOOK)
    return found
