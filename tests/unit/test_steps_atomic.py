"""Steps against a DynamoDB-compatible server that is atomic: moto's transactions are not, Dynoxide's are."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from threading import Barrier
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ReadTimeoutError
from dynoxide import server
from once import JSON, ConditionFailed, LockLostError
from once.conditions import Attr
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


def test_many_first_steps_at_once_all_stay_in_the_map(port: int) -> None:
    dynamodb = connect(port)
    for number in range(OPERATIONS):
        lock = acquired(dynamodb, f"map-{number}")
        together = Barrier(ATTEMPTS)

        def first(me: int, lock: Lock = lock, together: Barrier = together) -> JSON:
            def write(step: Step) -> JSON:
                together.wait(timeout=30)
                return me

            return StepLog(lock, dynamodb).run(f"step-{me}", write, "m")

        with ThreadPoolExecutor(ATTEMPTS) as pool:
            assert list(pool.map(first, range(ATTEMPTS))) == list(range(ATTEMPTS))
        assert set(item(dynamodb, "locks", lock.id)["steps"]["M"]) == {f"step-{n}" for n in range(ATTEMPTS)}


def test_an_owner_and_its_successor_at_once_have_one_effect(port: int) -> None:
    dynamodb = connect(port)
    came_to: Counter[str] = Counter()
    for number in range(OPERATIONS):
        old = acquired(dynamodb, f"heir-{number}")

        def late(old: Lock = old) -> str:
            def write(step: Step) -> JSON:
                time.sleep(random.uniform(0, 0.01))  # around the take-over, on either side of it
                step.update("stock", {"id": old.id}, "ADD taken :one", {":one": 1})
                return "old"

            try:
                return str(StepLog(old, dynamodb).run("take", write, "take"))
            except LockLostError:
                return "lost"

        def heir(old: Lock = old) -> str:
            def write(step: Step) -> JSON:
                step.update("stock", {"id": old.id}, "ADD taken :one", {":one": 1})
                return "new"

            return str(StepLog(acquired(dynamodb, old.id, 2), dynamodb).run("take", write, "take"))

        with ThreadPoolExecutor(2) as pool:
            of_late, of_heir = pool.submit(late), pool.submit(heir)
        came_to[f"{of_late.result()}, {of_heir.result()}"] += 1
        assert item(dynamodb, "stock", old.id)["taken"] == {"N": "1"}
    assert set(came_to) <= {"old, old", "lost, new", "lost, old"}  # lost, old: it happened, and then the lock was lost


def test_a_late_send_after_a_refusal_writes_nothing(port: int) -> None:
    class LosesTheFirst:
        """The transaction that was sent first is on its way until the test delivers it."""

        def __init__(self) -> None:
            self.late: list[dict[str, Any]] = []

        def __getattr__(self, name: str) -> Any:
            return getattr(dynamodb, name)

        def transact_write_items(self, **parameters: Any) -> Any:
            if self.late:
                return dynamodb.transact_write_items(**parameters)
            self.late.append(parameters)
            raise ReadTimeoutError(endpoint_url="http://127.0.0.1")

    dynamodb = connect(port)
    for steps_before in (0, 1, 2):
        lock, wire = acquired(dynamodb, f"late-{steps_before}"), LosesTheFirst()
        log = StepLog(lock, dynamodb, pause=lambda _: None)
        for number in range(steps_before):
            log.run(f"before-{number}", lambda step: None, "m")

        def write(step: Step, id: str = lock.id) -> JSON:
            step.update("stock", {"id": id}, "ADD taken :one", {":one": 1}, condition=Attr("open").exists())
            return None

        for _ in range(2):  # a closing upon a closing
            wire.late.clear()
            with pytest.raises(ConditionFailed):
                StepLog(lock, wire, pause=lambda _: None).run("take", write, "m")  # type: ignore[arg-type]
        dynamodb.put_item(TableName="stock", Item={"id": {"S": lock.id}, "open": {"BOOL": True}})
        with pytest.raises(dynamodb.exceptions.TransactionCanceledException):
            dynamodb.transact_write_items(**wire.late[0])
        assert "taken" not in item(dynamodb, "stock", lock.id)
        StepLog(lock, dynamodb).run("take", write, "m")
        assert item(dynamodb, "stock", lock.id)["taken"] == {"N": "1"}


def buy(port: int, buyer: int) -> tuple[int, int]:
    """Orders placed and refused by one process, of ten that it tries."""
    dynamodb = connect(port)
    placed = 0
    for number in range(10):
        lock = acquired(dynamodb, f"order-{buyer}-{number}")

        def write(step: Step, lock: Lock = lock) -> JSON:
            step.put("orders", {"id": lock.id}, condition=Attr("id").not_exists())
            step.update("stock", {"id": "mug"}, "SET n = n - :one", {":one": 1}, condition=Attr("n").gte(1))
            return None

        try:
            StepLog(lock, dynamodb).run("place", write, "place")
            placed += 1
        except ConditionFailed as failed:
            assert [refusal.table for refusal in failed.refusals] == ["stock"]
    return placed, 10 - placed


def test_processes_that_buy_the_last_pieces_never_sell_one_twice(port: int) -> None:
    dynamodb = connect(port)
    dynamodb.put_item(TableName="stock", Item={"id": {"S": "mug"}, "n": {"N": "25"}})
    with ProcessPoolExecutor(4, mp_context=get_context("spawn")) as pool:
        sold = list(pool.map(buy, [port] * 4, range(4)))
    assert [sum(column) for column in zip(*sold, strict=True)] == [25, 15]
    assert item(dynamodb, "stock", "mug")["n"] == {"N": "0"}
    assert dynamodb.scan(TableName="orders", Select="COUNT")["Count"] == 25
