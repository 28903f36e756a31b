"""What the tests of the library and of the functions share: an AWS in this process, events, and functions by name."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import hypothesis
import pytest
from moto import mock_aws
from moto.backends import get_backend
from once import Request
from once.clients import client
from once.settings import settings

ROOT = Path(__file__).parents[2]
Event = dict[str, Any]
TABLES = {"IdempotencyTable": "id", "ledger": "chargeId", "orders": "orderId", "prices": "sku", "stock": "sku"}
OWNER = "arn:aws:states:us-east-1:123456789012:execution:Operation:one"

# A busy machine is no fault of the code; a failure prints what repeats it.
hypothesis.settings.register_profile("unhurried", deadline=None, print_blob=True)
hypothesis.settings.load_profile("unhurried")


@pytest.fixture
def event() -> Callable[..., Event]:
    """Makes the event that the state machine sends to a function."""

    def make(operation: str = "greet", payload: object = None, *, key: str = "key-1", fence: int = 1) -> Event:
        return {
            "operation": operation,
            "tenant": "acme",
            "idempotencyKey": key,
            "payload": {} if payload is None else payload,
            "attempt": fence,
            "retentionDays": 30,
            "responseBucket": "responses",
            "replyToken": "token",
            "lock": {
                "table": "IdempotencyTable",
                "id": f"acme#{operation}#{key}",
                "owner": OWNER,
                "fence": fence,
                "leaseExpiresAt": 1_795_255_200,
                "ticket": f"2026-11-21T08:00:00.000Z {'f' * 64} acme#{operation}#{key}",
            },
        }

    return make


ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
    "AWS_REGION": "us-east-1",
    "LEDGER_TABLE": "ledger",
    "ORDERS_TABLE": "orders",
    "STOCK_TABLE": "stock",
}


@pytest.fixture(scope="module")
def account() -> Iterator[None]:
    """DynamoDB and S3 with the tables and the bucket, and clients of them: made once, for they are most of a test."""
    with pytest.MonkeyPatch.context() as patch:
        _deploy(patch)
        _forget()
        with mock_aws():
            client("s3").create_bucket(Bucket="responses")
            for table, key in TABLES.items():
                client("dynamodb").create_table(
                    TableName=table,
                    KeySchema=[{"AttributeName": key, "KeyType": "HASH"}],
                    AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"}],
                    BillingMode="PAY_PER_REQUEST",
                )
            yield
            # The mock may stand inside that of a local cloud, which outlives it.
            for table in TABLES:
                client("dynamodb").delete_table(TableName=table)
            client("s3").delete_bucket(Bucket="responses")
    _forget()


@pytest.fixture
def aws(account: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """DynamoDB and S3 as a new deployment has them: with empty tables and an empty bucket."""
    _deploy(monkeypatch)
    settings.cache_clear()
    yield
    for table in TABLES:
        get_backend("dynamodb")["123456789012"]["us-east-1"].tables[table].items.clear()
    get_backend("s3")["123456789012"]["aws"].buckets["responses"].keys.clear()
    settings.cache_clear()


def _deploy(patch: pytest.MonkeyPatch) -> None:
    for name, value in ENVIRONMENT.items():
        patch.setenv(name, value)
    patch.delenv("AWS_ENDPOINT_URL", raising=False)


@pytest.fixture
def rows(aws: None) -> Callable[[str], list[dict[str, Any]]]:
    """All items of a table, as DynamoDB gives them."""
    return lambda table: list(client("dynamodb").scan(TableName=table, ConsistentRead=True)["Items"])


@pytest.fixture
def acquire(aws: None) -> Callable[[Event], Event]:
    """Gives the lock to the attempt that the event is for, as the state machine does before it sends the event.

    What earlier attempts noted in the record stays, as it does when a lock is renewed or taken over.
    """

    def write(event: Event) -> Event:
        client("dynamodb").update_item(
            TableName="IdempotencyTable",
            Key={"id": {"S": event["lock"]["id"]}},
            UpdateExpression="SET #owner = :owner, fence = :fence, #status = :inProgress",
            ExpressionAttributeNames={"#owner": "owner", "#status": "status"},
            ExpressionAttributeValues={
                ":owner": {"S": event["lock"]["owner"]},
                ":fence": {"N": str(event["lock"]["fence"])},
                ":inProgress": {"S": "IN_PROGRESS"},
            },
        )
        return event

    return write


@pytest.fixture
def attempt(event: Callable[..., Event], acquire: Callable[[Event], Event]) -> Callable[..., Request]:
    """The request as an attempt gets it that has just been given the lock."""
    return lambda fence=1, key="key-1": Request.from_event(acquire(event("greet", key=key, fence=fence)))


@pytest.fixture
def function(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], ModuleType]]:
    """Loads a function's folder as Lambda does, with the folder first on the path, and returns its `app`."""

    def load(folder: str) -> ModuleType:
        _unload_functions()
        monkeypatch.syspath_prepend(ROOT / "functions" / folder)
        return importlib.import_module("app")

    yield load
    _unload_functions()


@pytest.fixture
def read() -> Callable[[str], Any]:
    """Reads a JSON file of the project."""
    return lambda path: json.loads((ROOT / path).read_text(encoding="utf-8"))


def _forget() -> None:
    settings.cache_clear()
    client.cache_clear()  # type: ignore[attr-defined]


def _unload_functions() -> None:
    """Two functions may each have a module called `settings`."""
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", "")).startswith(str(ROOT / "functions")):
            del sys.modules[name]
