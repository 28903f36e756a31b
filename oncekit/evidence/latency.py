"""How long a new request takes in each lane, cold and warm.

Cold are requests that come at once, to a stack that nobody used for a while: each needs an environment of Lambda's for
itself, which most have to start. Warm are those that come one after the other behind them.
"""

from __future__ import annotations

import json
import math
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from botocore.config import Config

from oncekit.contract.lanes import DIRECT, FAST, FULL
from oncekit.evidence.finding import NotLooked
from oncekit.stack.stack import Stack

EVENT = Path(__file__).parents[2] / "events" / "charge-payment.json"
IN_THE_MACHINE = "from start to end, by Step Functions' clock"
OUTSIDE = "one Invoke, by the clock here, with the way to Lambda and back"
POLL_SECONDS = 0.3
MOST_SECONDS = 120
Run = Callable[[str], float]
"""Sends a new request under this key; seconds until it ended."""


@dataclass(frozen=True)
class Function:
    """A function of the direct lane, and an event of it in which KEY stands for the key."""

    name: str
    event: str


def latency_of(stack: Stack, cold: int, warm: int, direct: Function | None = None) -> Iterator[dict[str, Any]]:
    """A line for each lane and start. Raises NotLooked for a request that did not end as it should."""
    client = stack.session.client(
        "stepfunctions",
        endpoint_url=stack.endpoint_url,
        config=Config(inject_host_prefix=not stack.is_local, max_pool_connections=cold, retries={"mode": "adaptive"}),
    )
    lanes: dict[str, tuple[Run, str]] = {
        FULL: (lambda key: _full(client, stack.start_in(FULL), _request(key)), IN_THE_MACHINE),
        FAST: (lambda key: _fast(client, stack.start_in(FAST), _request(key)), IN_THE_MACHINE),
    }
    if direct is not None:
        functions = stack.client("lambda")
        lanes[DIRECT] = (lambda key: _direct(functions, direct, key), OUTSIDE)
    for lane, (run, measured) in lanes.items():
        keys = [f"evidence-{uuid.uuid4()}" for _ in range(cold + warm)]
        with ThreadPoolExecutor(cold) as pool:
            at_once = list(pool.map(run, keys[:cold]))
        behind = [run(key) for key in keys[cold:]]
        for start, seconds in (("cold", at_once), ("warm", behind)):
            told = {"lane": lane, "start": start, "count": len(seconds), "measured": measured}
            yield {**told, "p50": percentile(seconds, 0.5), "p99": percentile(seconds, 0.99)}


def percentile(seconds: Sequence[float], share: float) -> int:
    """In ms: the least that so many of them do not exceed."""
    return round(sorted(seconds)[max(0, math.ceil(share * len(seconds)) - 1)] * 1000)


def _request(key: str) -> str:
    return json.dumps({**json.loads(EVENT.read_text(encoding="utf-8")), "idempotencyKey": key})


def _fast(client: Any, machine: str, request: str) -> float:
    return _seconds(client.start_sync_execution(stateMachineArn=machine, input=request))


def _full(client: Any, machine: str, request: str) -> float:
    arn, end = (
        client.start_execution(stateMachineArn=machine, input=request)["executionArn"],
        time.time() + MOST_SECONDS,
    )
    while (ended := client.describe_execution(executionArn=arn))["status"] == "RUNNING" and time.time() < end:
        time.sleep(POLL_SECONDS)
    return _seconds(ended)


def _seconds(ended: Any) -> float:
    if ended["status"] != "SUCCEEDED":
        raise NotLooked(f"a request ended as {ended['status']} {ended.get('error', '')}: {ended.get('cause', '')}")
    seconds: float = (ended["stopDate"] - ended["startDate"]).total_seconds()
    return seconds


def _direct(client: Any, function: Function, key: str) -> float:
    begin = time.monotonic()
    answer = client.invoke(FunctionName=function.name, Payload=function.event.replace("KEY", key).encode())
    seconds = time.monotonic() - begin
    if "FunctionError" in answer:
        raise NotLooked(f"{function.name} failed: {answer['Payload'].read().decode()}")
    return seconds
