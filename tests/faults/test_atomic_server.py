"""The lock's own condition expressions against a DynamoDB-compatible server that is atomic: one winner a key.

moto's writes are made atomic by one lock in this process, so they say nothing about races; Dynoxide's do.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import socket
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from local import LocalCloud, VirtualClock
from local.engine.jsonata import Evaluator

ROOT = Path(__file__).parents[2]
DYNOXIDE = ROOT / "build" / "npm" / "node_modules" / "@dynoxide" / "linux-x64" / "dynoxide"
KEYS, WRITERS = 200, 64
AUTHORIZATION = (
    "AWS4-HMAC-SHA256 Credential=local/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0"
)
CLOCK = VirtualClock()
EVALUATOR = Evaluator(CLOCK, random.Random(0))


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    if not DYNOXIDE.exists():
        assert not os.environ.get("CI"), "Dynoxide is missing: run make tools"
        pytest.skip("Dynoxide is not installed; `make tools` installs it (needs npm)")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        free: int = probe.getsockname()[1]
    server = subprocess.Popen(
        [DYNOXIDE, "serve", "--host", "127.0.0.1", "--port", str(free)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait_for(free)
        table = {
            "TableName": "locks",
            "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
            "BillingMode": "PAY_PER_REQUEST",
        }
        status, _ = Writer(free).call("CreateTable", table)
        assert status == 200
        yield free
    finally:
        server.kill()
        server.wait()


def _wait_for(port: int) -> None:
    for _ in range(200):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise TimeoutError("Dynoxide did not start within 4 s")


class Writer:
    """A connection that sends calls as they are."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)

    def call(self, action: str, parameters: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        headers = {
            "X-Amz-Target": f"DynamoDB_20120810.{action}",
            "Content-Type": "application/x-amz-json-1.0",
            "Authorization": AUTHORIZATION,
            "X-Amz-Date": "20260101T000000Z",
        }
        self._connection.request("POST", "/", json.dumps(parameters), headers)
        answer = self._connection.getresponse()
        return answer.status, json.loads(answer.read() or b"{}")


@pytest.fixture(scope="module")
def states(shared_cloud: LocalCloud) -> dict[str, Any]:
    machine = shared_cloud.client("stepfunctions").describe_state_machine(
        stateMachineArn=shared_cloud.outputs["StateMachineArn"].removesuffix(":live")
    )
    deployed: dict[str, Any] = json.loads(machine["definition"])["States"]
    return deployed


def arguments(states: dict[str, Any], state: str, owner: str, **variables: Any) -> dict[str, Any]:
    """The call that the state would make, its expressions evaluated for one owner."""

    def value_of(node: Any) -> Any:
        if isinstance(node, dict):
            return {k: value_of(v) for k, v in node.items()}
        if isinstance(node, str) and node.startswith("{%"):
            return EVALUATOR.evaluate(node[2:-2], {"context": {"Execution": {"Id": owner}}}, variables)
        return node

    call: dict[str, Any] = value_of(states[state]["Arguments"])
    return call | {"TableName": "locks"}


def request(number: int) -> dict[str, Any]:
    return {"id": f"default#a#{number}", "fingerprint": "f", "onCrash": "retry", "shard": "0"}


def race(port: int, calls_of_key: list[list[dict[str, Any]]]) -> list[Counter[int]]:
    """Every writer goes through the keys, all on the same key at a time; how often each status came back, by key."""
    outcomes = [Counter[int]() for _ in calls_of_key]
    together = threading.Barrier(WRITERS)
    lock = threading.Lock()

    def write(writer: int) -> None:
        connection = Writer(port)
        for key, calls in enumerate(calls_of_key):
            together.wait(timeout=30)
            status, _ = connection.call("UpdateItem", calls[writer])
            with lock:
                outcomes[key][status] += 1

    with ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(write, range(WRITERS)))
    return outcomes


def record(port: int, number: int) -> dict[str, Any]:
    _, answer = Writer(port).call(
        "GetItem", {"TableName": "locks", "Key": {"id": {"S": f"default#a#{number}"}}, "ConsistentRead": True}
    )
    item: dict[str, Any] = answer["Item"]
    return item


def test_one_of_sixty_four_acquires_and_one_takes_over(port: int, states: dict[str, Any]) -> None:
    owners = [f"arn:owner:{n}" for n in range(WRITERS)]
    acquire = [
        [arguments(states, "AcquireLock", owner, request=request(key)) for owner in owners] for key in range(KEYS)
    ]
    for outcome in race(port, acquire):
        assert outcome == {200: 1, 400: WRITERS - 1}
    records = [record(port, key) for key in range(KEYS)]
    heirs = [f"arn:heir:{n}" for n in range(WRITERS)]
    take_over = [
        [arguments(states, "TakeOverLock", heir, request=request(key), record=records[key]) for heir in heirs]
        for key in range(KEYS)
    ]
    for outcome in race(port, take_over):
        assert outcome == {200: 1, 400: WRITERS - 1}
    assert all(record(port, key)["fence"] == {"N": "2"} for key in range(KEYS))
    assert all(record(port, key)["owner"]["S"] in heirs for key in range(KEYS))
