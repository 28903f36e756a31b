"""Events in real time, in a process of its own: from a dead owner to its recovery, and what closing leaves behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.ours

ROOT = Path(__file__).parents[2]
SCRIPT = """
import threading, time
from pathlib import Path
from oncekit.local import LocalCloud, RealClock
from oncekit.local.events import late

payload = {"orderId": "1", "amount": 1, "currency": "EUR"}
charge = {"operation": "charge-payment", "idempotencyKey": "k", "payload": payload}
died = []

with LocalCloud(Path("template.yaml"), clock=RealClock()) as cloud:
    def dies(call, proceed):
        if call.service == "lambda" and not died:
            died.append(call.execution_arn)
            cloud.client("stepfunctions").stop_execution(executionArn=call.execution_arn)
            raise ConnectionError
        return proceed()

    began = time.time()
    with cloud.intercept(dies), cloud.lose_events(late(0.5)):
        assert cloud.run(charge).status == "ABORTED"
        cloud.settle(30)
    [delivery] = cloud.deliveries()
    assert 0.5 <= delivery.at - began < 10, delivery
    assert cloud.record("default#charge-payment#k")["status"] == "COMPLETED"
    try:
        with cloud.lose_events(late(60)):
            died.clear()
            with cloud.intercept(dies):
                cloud.run({**charge, "idempotencyKey": "l"})
            cloud.settle(0.2)
    except TimeoutError as error:
        print("said:", error)
    closing = time.time()
assert time.time() - closing < 5, "closing does not wait for what is under way"
left = [thread.name for thread in threading.enumerate() if thread.name.startswith("delivery_queue")]
assert not left, left
"""


def test_events_in_real_time() -> None:
    answer = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.splitlines() == ["said: not finished after 0.2 s: a delivery"]
