"""Executions of the fast lane whose senders get the answer: they are started synchronously."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from oncekit.cli.deployed.requests.ends import Ended, TooLong, ended
from oncekit.cli.deployed.requests.ways import DIRECT
from oncekit.cli.deployed.stack import Stack
from oncekit.local.lanes import FAST, MACHINES
from oncekit.local.quotas import EXPRESS_SECONDS

AT_ONCE = 16
"""Starts that wait for their answers at the same time."""
TO_ANSWER = 30
"""Seconds more than AWS lets an Express execution live."""


def run(stack: Stack, request: str, times: int, seconds: float) -> tuple[dict[str, Any], list[Ended], list[TooLong]]:
    """What `ways.send` tells, how each execution ended, and those without an answer after these seconds.

    Of the machine, not of its alias: that StartSyncExecution takes an alias, AWS's reference does not say.
    """
    machine = stack.outputs[MACHINES[FAST]]
    client = _client(stack, seconds)

    def start(_: int) -> Ended | TooLong:
        from botocore.exceptions import ReadTimeoutError

        try:
            return ended(client.start_sync_execution(stateMachineArn=machine, input=request))
        except ReadTimeoutError:
            return TooLong(f"no answer after {seconds:g} s; the execution may still be at work: `once show ID` tells")

    with ThreadPoolExecutor(min(times, AT_ONCE)) as pool:
        answers = list(pool.map(start, range(times)))
    ends = [each for each in answers if isinstance(each, Ended)]
    late = [each for each in answers if isinstance(each, TooLong)]
    return {"via": DIRECT, "to": machine, "sent": [each.of for each in ends]}, ends, late


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
