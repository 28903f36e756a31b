"""Prints three tables: the cost of each path, the import time of a function, and the speed of the local cloud."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from oncekit.bench.counting import Cost, Counter
from oncekit.bench.powertools import powertools_costs
from oncekit.local import VirtualClock
from oncekit.local.engine import Call, Interceptor
from oncekit.local.faults import before, fails
from oncekit.local.once_cloud import LocalCloud

ROOT = Path(__file__).parents[2]
RUNS = 7
EXECUTIONS = 200
LONGER_THAN_THE_LEASE_S = 3600
BASELINE = """
import boto3
from aws_lambda_powertools import Logger, Metrics
client, logger, metrics = boto3.client("dynamodb", region_name="us-east-1"), Logger(service="x"), Metrics("Once", "x")
"""


def report(size: int, key: str) -> dict[str, Any]:
    return {"operation": "build-report", "idempotencyKey": key, "payload": {"bytes": size}}


def measured(cloud: LocalCloud, request: Any, *faults: Interceptor) -> Cost:
    counter = Counter(cloud)
    with cloud.intercept(counter, *faults):  # a failed start is a start, too
        execution = cloud.run(request)
    counter.cost.transitions = execution.transitions
    return counter.cost


def costs(cloud: LocalCloud) -> dict[str, Cost]:
    return {
        "new, 1 KB result": measured(cloud, report(1024, "a")),
        "duplicate of it": measured(cloud, report(1024, "a")),
        "new, 20 KB result": measured(cloud, report(20_000, "b")),
        "duplicate of it ": measured(cloud, report(20_000, "b")),
        "new, 2 MB result": measured(cloud, report(2_000_000, "c")),
        "duplicate of it  ": measured(cloud, report(2_000_000, "c")),
        "duplicate while in progress": _while_in_progress(cloud, report(1024, "p")),
        "second attempt succeeds": measured(cloud, report(1024, "d"), fails("Unknown", action="invoke")),
        "fails for good": measured(cloud, {**report(1024, "e"), "payload": {}}),
        "quarantined after a crash": measured(
            cloud, {**report(1024, "f"), "onCrash": "quarantine"}, fails("Unknown", action="invoke")
        ),
        "takes over a dead owner": _after_death(cloud, report(1024, "g"), "ExecuteBusinessLogic"),
        "redrives a dead owner": _after_death(cloud, report(1024, "h"), "Finalize"),
        "payload mismatch": measured(cloud, report(2048, "a")),
        "invalid request": measured(cloud, {}),
    }


def _while_in_progress(cloud: LocalCloud, request: Any) -> Cost:
    found: list[Cost] = []
    with cloud.intercept(before(lambda: found.append(measured(cloud, request)), action="invoke")):
        cloud.run(request)
    return found[0]


def _after_death(cloud: LocalCloud, request: Any, state: str) -> Cost:
    """What a duplicate pays that meets an owner that died in a state; what a redriven owner goes on to do included."""

    def die(call: Call, proceed: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        if call.state == state:
            cloud.client("stepfunctions").stop_execution(executionArn=call.execution_arn)
            raise ConnectionError
        return proceed()

    with cloud.intercept(die):
        owner = cloud.run(request)
    assert isinstance(cloud.clock, VirtualClock)
    cloud.clock.advance(LONGER_THAN_THE_LEASE_S)
    counter = Counter(cloud)
    with cloud.intercept(counter):
        counter.cost.transitions = cloud.run(request).transitions
        counter.cost.transitions += cloud.wait(owner.arn).transitions - owner.transitions
    return counter.cost


def import_seconds(source: str, folder: Path) -> float:
    """The median time of a process that imports, over some runs."""
    environment = {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{ROOT / 'shared'}", "AWS_REGION": "us-east-1"}
    taken = []
    for _ in range(RUNS):
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", source], env=environment, check=True)  # noqa: S603 our own interpreter
        taken.append(time.perf_counter() - started)
    return statistics.median(taken)


def speed(cloud: LocalCloud) -> float:
    requests = [report(1024, f"speed-{n}") for n in range(EXECUTIONS)]
    cloud.run_all(requests[:10])
    started = time.perf_counter()
    for first in range(10, EXECUTIONS, 10):
        cloud.run_all(requests[first : first + 10])
    return (EXECUTIONS - 10) / (time.perf_counter() - started)


def main() -> None:
    console = Console(width=130, highlight=False)
    with LocalCloud(ROOT / "template.yaml", events=False) as cloud:
        table = Table("path", "transitions", "writes", "refused", "reads", "WRU", "RRU", "Lambda", "$ per million")
        for name, cost in (costs(cloud) | powertools_costs(cloud)).items():
            numbers = (
                cost.transitions,
                cost.writes,
                cost.refused_writes,
                cost.reads,
                cost.write_units,
                cost.read_units,
            )
            table.add_row(name, *map(str, (*numbers, cost.invocations)), f"{cost.dollars_per_million:.2f}")
        console.print(table)
        rate = speed(cloud)
    ours = import_seconds("import app", ROOT / "functions" / "charge_payment")
    with_client = "import app; from once.clients import client; client('dynamodb')"
    ready = import_seconds(with_client, ROOT / "functions" / "charge_payment")
    theirs = import_seconds(BASELINE, ROOT)
    console.print(
        f"import of charge_payment: {ours / theirs:.2f} of a handler with a boto3 client, Logger and Metrics; "
        f"with its own client made: {ready / theirs:.2f}"
    )
    console.print(f"local cloud: {rate:.0f} executions a second")


if __name__ == "__main__":
    main()
