"""The lock's own condition expressions against a DynamoDB-compatible server that is atomic: one winner a key.

moto's writes are made atomic by one lock in this process, so they say nothing about races; Dynoxide's do.
"""

from __future__ import annotations

import json
import random
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from dynoxide import Connection, Refused, server

from oncekit.local import LocalCloud, VirtualClock
from oncekit.local.engine.jsonata import Evaluator

KEYS, WRITERS = 200, 64
WRITTEN, REFUSED = "written", "ConditionalCheckFailedException"
CLOCK = VirtualClock()
EVALUATOR = Evaluator(CLOCK, random.Random(0))


@pytest.fixture(scope="module")
def port(dynoxide: None) -> Iterator[int]:
    with server("locks") as port:
        yield port


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
            return EVALUATOR.evaluate(node[2:-2], {}, {"me": owner, **AT_FIRST, **variables})
        return node

    call: dict[str, Any] = value_of(states[state]["Arguments"])
    return call | {"TableName": "locks"}


AT_FIRST = {
    "fingerprint": "f",
    "found": "NOTHING",
    "isRecovery": False,
    "isKept": False,
    "kept": {"isLarge": False, "text": "{}"},
    "next": {"attempts": 2, "waitSeconds": 0},
    "failure": {"name": "OwnerEnded", "message": "an owner ended"},
}


def request(number: int) -> dict[str, Any]:
    return {"id": f"default#a#{number}", "idHash": "0", "tenant": "default", "onCrash": "retry"}


def lock_of(record: dict[str, Any]) -> dict[str, Any]:
    """As ReadRecord remembers it."""
    fence, lease = (int(record[name]["N"]) for name in ("fence", "leaseExpiresAt"))
    return {"owner": record["owner"]["S"], "fence": fence, "lease": lease}


def race(port: int, calls_of_key: list[list[dict[str, Any]]]) -> list[Counter[str]]:
    """Every writer goes through the keys, all on the same key at a time; how often each outcome came back, by key."""
    outcomes = [Counter[str]() for _ in calls_of_key]
    together = threading.Barrier(WRITERS)
    lock = threading.Lock()

    def write(writer: int) -> None:
        connection = Connection(port)
        for key, calls in enumerate(calls_of_key):
            together.wait(timeout=30)
            try:
                connection.call("UpdateItem", json.dumps(calls[writer]))
                outcome = WRITTEN
            except Refused as refused:
                outcome = refused.code
            with lock:
                outcomes[key][outcome] += 1

    with ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(write, range(WRITERS)))
    return outcomes


def record(port: int, number: int) -> dict[str, Any]:
    read = {"TableName": "locks", "Key": {"id": {"S": f"default#a#{number}"}}, "ConsistentRead": True}
    item: dict[str, Any] = Connection(port).call("GetItem", json.dumps(read))["Item"]
    return item


def test_one_of_sixty_four_acquires_and_one_takes_over(port: int, states: dict[str, Any]) -> None:
    owners = [f"arn:owner:{n}" for n in range(WRITERS)]
    acquire = [
        [arguments(states, "AcquireLock", owner, request=request(key)) for owner in owners] for key in range(KEYS)
    ]
    for outcome in race(port, acquire):
        assert outcome == {WRITTEN: 1, REFUSED: WRITERS - 1}
    records = [record(port, key) for key in range(KEYS)]
    heirs = [f"arn:heir:{n}" for n in range(WRITERS)]
    take_over = [
        [arguments(states, "TakeNextFence", heir, request=request(key), about=lock_of(records[key])) for heir in heirs]
        for key in range(KEYS)
    ]
    for outcome in race(port, take_over):
        assert outcome == {WRITTEN: 1, REFUSED: WRITERS - 1}
    assert all(record(port, key)["fence"] == {"N": "2"} for key in range(KEYS))
    assert all(record(port, key)["owner"]["S"] in heirs for key in range(KEYS))
