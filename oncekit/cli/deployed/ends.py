"""How executions that were started ended."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any

from oncekit.cli.deployed.stack import Stack
from oncekit.cli.outcomes import message_in
from oncekit.local.lanes import FAST, MACHINES
from oncekit.local.quotas import EXPRESS_SECONDS

FIRST_LOOK, LAST_LOOK = 0.2, 5.0
"""Seconds between looks: DescribeExecution is limited to some ten a second, for everybody in the account."""
AT_ONCE = 16
"""Starts that wait for their answers at the same time."""
TO_ANSWER = 30
"""Seconds more than AWS lets an Express execution live."""


@dataclass(frozen=True)
class Ended:
    """An outcome: a disposition or an error; `result` is JSON text, `message` why it failed."""

    of: str
    outcome: str
    result: str | None = None
    result_ref: dict[str, Any] | None = None
    message: str | None = None

    def as_json(self) -> dict[str, Any]:
        told = asdict(self) | {"result": json.loads(self.result) if self.result is not None else None}
        return {"resultRef" if name == "result_ref" else name: value for name, value in told.items()}


def execution_end(stack: Stack, arn: str, seconds: float) -> Ended | str:
    """How an execution of the operation machine ended, or that it has no end after these seconds."""
    from botocore.exceptions import ClientError

    client = stack.client("stepfunctions")
    waited, pause = 0.0, FIRST_LOOK
    while True:
        try:
            described = client.describe_execution(executionArn=arn)
            if described["status"] != "RUNNING":
                return ended(described)
        except ClientError as refused:  # AWS may describe what was started just now a little later
            if refused.response["Error"]["Code"] != "ExecutionDoesNotExist":
                raise
        if waited >= seconds:
            return f"{arn}: still without an end after {seconds:g} s; it goes on by itself"
        time.sleep(pause)
        waited, pause = waited + pause, min(pause * 1.5, LAST_LOOK)


def ended(described: Mapping[str, Any]) -> Ended:
    """The end that DescribeExecution or StartSyncExecution tells."""
    arn, status = described["executionArn"], described["status"]
    if status != "SUCCEEDED":
        return Ended(arn, described.get("error") or status, message=message_in(described.get("cause")))
    output = json.loads(described["output"])
    return Ended(arn, output["disposition"], output.get("result"), output.get("resultRef"))


# ---- in the fast lane, whose executions answer only who starts them synchronously ----


def synchronous(stack: Stack, request: str, times: int, seconds: float) -> list[Ended | str]:
    """How each execution of the fast lane ended, or that there was no answer after these seconds.

    Of the machine, not of its alias: that StartSyncExecution takes an alias, AWS's reference does not say.
    """
    machine = stack.outputs[MACHINES[FAST]]
    client = _client(stack, seconds)

    def start(_: int) -> Ended | str:
        from botocore.exceptions import ReadTimeoutError

        try:
            return ended(client.start_sync_execution(stateMachineArn=machine, input=request))
        except ReadTimeoutError:
            return f"no answer after {seconds:g} s; the execution may still be at work: `once show ID` tells"

    with ThreadPoolExecutor(min(times, AT_ONCE)) as pool:
        return list(pool.map(start, range(times)))


def _client(stack: Stack, seconds: float) -> Any:
    """One that waits that long, and never sends a start twice: each would be an execution of its own."""
    from botocore.config import Config

    way = Config(
        read_timeout=min(seconds, EXPRESS_SECONDS + TO_ANSWER),
        retries={"total_max_attempts": 1},
        inject_host_prefix=not stack.is_local,  # there is no host of the name sync-...
        max_pool_connections=AT_ONCE,
    )
    return stack.session.client("stepfunctions", endpoint_url=stack.endpoint_url, config=way)
