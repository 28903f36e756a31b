"""Steps against a DynamoDB-compatible server that is atomic: moto's transactions are not, Dynoxide's are."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import boto3
import pytest
from botocore.config import Config
from dynoxide import server
from once import JSON, LockLostError
from once.lock import Lock
from once.step import Step
from once.step_log import StepLog

OPERATIONS, ATTEMPTS = 25, 4


def connect(port: int) -> Any:
    return boto3.client(
        "dynamodb",
        endpoint_url=f"http://127.0.0.1:{port}",
        region_name="us-east-1",
        aws_access_key_id="testing",
        aws_secret_access_key="testing",
        config=Config(max_pool_connections=20),
    )


@pytest.fixture(scope="module")
def port(dynoxide: None) -> Iterator[int]:
    with server("locks", "stock", "orders") as port:
        yield port


def acquired(dynamodb: Any, id: str, fence: int = 1) -> Lock:
    """The lock under a fence, as the state machine would have written it."""
    dynamodb.update_item(
        TableName="locks",
        Key={"id": {"S": id}},
        UpdateExpression="SET #o = :o, fence = :f, #s = :s",
        ExpressionAttributeNames={"#o": "owner", "#s": "status"},
        ExpressionAttributeValues={":o": {"S": "arn"}, ":f": {"N": str(fence)}, ":s": {"S": "IN_PROGRESS"}},
    )
    return Lock("locks", id, "arn", fence, 0)


def item(dynamodb: Any, table: str, id: str) -> dict[str, Any]:
    found: dict[str, Any] = dynamodb.get_item(TableName=table, Key={"id": {"S": id}}, ConsistentRead=True).get(
        "Item", {}
    )
    return found


def test_many_attempts_at_once_do_a_step_once_and_all_get_its_result(port: int) -> None:
    dynamodb = connect(port)
    for number in range(OPERATIONS):
        lock = acquired(dynamodb, f"same-{number}")
        together = Barrier(ATTEMPTS)

        def attempt(me: int, lock: Lock = lock, together: Barrier = together) -> JSON:
            def write(step: Step) -> JSON:
                together.wait(timeout=30)  # all have seen that the step was not done
                step.update("stock", {"id": lock.id}, "ADD taken :one", {":one": 1})
                return me

            return StepLog(lock, dynamodb).run("take", write, "take")

        with ThreadPoolExecutor(ATTEMPTS) as pool:
            results = list(pool.map(attempt, range(ATTEMPTS)))
        assert len(set(map(str, results))) == 1
        assert item(dynamodb, "stock", lock.id)["taken"] == {"N": "1"}


def test_an_owner_and_its_successor_at_once_have_one_effect(port: int) -> None:
    dynamodb = connect(port)
    came_to: Counter[str] = Counter()
    for number in range(OPERATIONS):
        old = acquired(dynamodb, f"next-{number}")

        def late(old: Lock = old) -> str:
            def write(step: Step) -> JSON:
                time.sleep(random.uniform(0, 0.01))  # around the take-over, on either side of it
                step.update("stock", {"id": old.id}, "ADD taken :one", {":one": 1})
                return "old"

            try:
                return str(StepLog(old, dynamodb).run("take", write, "take"))
            except LockLostError:
                return "lost"

        def successor(old: Lock = old) -> str:
            def write(step: Step) -> JSON:
                step.update("stock", {"id": old.id}, "ADD taken :one", {":one": 1})
                return "new"

            return str(StepLog(acquired(dynamodb, old.id, 2), dynamodb).run("take", write, "take"))

        with ThreadPoolExecutor(2) as pool:
            of_late, of_successor = pool.submit(late), pool.submit(successor)
        came_to[f"{of_late.result()}, {of_successor.result()}"] += 1
        assert item(dynamodb, "stock", old.id)["taken"] == {"N": "1"}
    assert set(came_to) <= {"old, old", "lost, new", "lost, old"}  # lost, old: it happened, and then the lock was lost
