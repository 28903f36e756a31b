"""How long the import of a function takes, and how many executions a second the local cloud runs."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from oncekit.local.account import REGION
from oncekit.local.once_cloud import LocalCloud

ROOT = Path(__file__).parents[2]
RUNS = 7
EXECUTIONS = 200
BASELINE = f"""
import boto3
from aws_lambda_powertools import Logger, Metrics
client, logger, metrics = boto3.client("dynamodb", region_name="{REGION}"), Logger(service="x"), Metrics("Once", "x")
"""


def speed_lines(cloud: LocalCloud) -> Iterator[str]:
    """What was measured, as lines for people."""
    yield f"local cloud: {_executions_per_second(cloud):.0f} executions a second"
    ours = _import_seconds("import app", ROOT / "functions" / "charge_payment")
    with_client = "import app; from once.clients import client; client('dynamodb')"
    ready = _import_seconds(with_client, ROOT / "functions" / "charge_payment")
    theirs = _import_seconds(BASELINE, ROOT)
    yield (
        f"import of charge_payment: {ours / theirs:.2f} of a handler with a boto3 client, Logger and Metrics; "
        f"with its own client made: {ready / theirs:.2f}"
    )


def _import_seconds(source: str, folder: Path) -> float:
    """The median time of a process that imports, over some runs."""
    environment = {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{ROOT / 'shared'}", "AWS_REGION": REGION}
    taken = []
    for _ in range(RUNS):
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", source], env=environment, check=True)  # noqa: S603 our own interpreter
        taken.append(time.perf_counter() - started)
    return statistics.median(taken)


def _executions_per_second(cloud: LocalCloud) -> float:
    requests = [_report(f"speed-{n}") for n in range(EXECUTIONS)]
    cloud.run_all(requests[:10])
    started = time.perf_counter()
    for first in range(10, EXECUTIONS, 10):
        cloud.run_all(requests[first : first + 10])
    return (EXECUTIONS - 10) / (time.perf_counter() - started)


def _report(key: str) -> dict[str, Any]:
    return {"operation": "build-report", "idempotencyKey": key, "payload": {"bytes": 1024}}
