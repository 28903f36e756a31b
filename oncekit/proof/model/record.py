"""The record's table in the model: moto's own evaluation of condition and update expressions, and of transactions.

A record is its item as JSON text, None when there is none. The ledger counts what fenced steps have done.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from moto import mock_aws
from moto.dynamodb.exceptions import ConditionalCheckFailed
from moto.dynamodb.models import DynamoDBBackend, dynamodb_backends

Record = str | None
LEDGER = "ledger"
REGION = "eu-west-1"
"""Not the local cloud's: its tables may be open in this process."""


@dataclass(frozen=True)
class Table:
    """One table with one record, as a function from what is there and a call to what is there afterwards."""

    name: str
    _backend: DynamoDBBackend = field(compare=False)
    _client: Any = field(compare=False)

    @functools.lru_cache(100_000)  # noqa: B019  tables of a name answer alike: they are asked once for all settings
    def update(self, record: Record, call: str) -> Record:
        """The record after UpdateItem with these arguments; None when its condition does not hold."""
        arguments = json.loads(call)
        self._put(record)
        expressions = (arguments[f"ExpressionAttribute{each}"] for each in ("Names", "Values"))
        update, condition = arguments["UpdateExpression"], arguments["ConditionExpression"]
        try:
            item = self._backend.update_item(
                self.name, arguments["Key"], update, *expressions, condition_expression=condition
            )
        except ConditionalCheckFailed:
            return None
        return as_json(item.to_json()["Attributes"])

    def used(self, record: Record, ledger: int, code: Callable[[Any], str]) -> tuple[Record, int, str]:
        """Record, ledger and what the code says after it has had a client of the table to itself."""
        self._put(record)
        self._backend.put_item(LEDGER, {"id": {"S": "effect"}, "n": {"N": str(ledger)}})
        said = code(self._client)
        [effects] = self._items(LEDGER)
        return next(map(as_json, self._items(self.name)), None), int(effects["n"]["N"]), said

    def _put(self, record: Record) -> None:
        self._backend.tables[self.name].items.clear()
        if record is not None:
            self._backend.put_item(self.name, json.loads(record))

    def _items(self, table: str) -> list[dict[str, Any]]:
        return [item.to_json()["Attributes"] for item in self._backend.tables[table].items.values()]


@contextmanager
def table(name: str) -> Iterator[Table]:
    """The record's table and the ledger, empty."""
    import boto3

    with mock_aws():
        client: Any = boto3.client(
            "dynamodb",
            region_name=REGION,
            aws_access_key_id="local",
            aws_secret_access_key="local",  # noqa: S106
        )
        for each in (name, LEDGER):
            client.create_table(
                TableName=each,
                KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
                AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
                BillingMode="PAY_PER_REQUEST",
            )
        backend = next(backend[REGION] for backend in dynamodb_backends.values() if name in backend[REGION].tables)
        try:
            yield Table(name, backend, client)
        finally:  # inside a local cloud the mock forgets nothing
            for each in (name, LEDGER):
                client.delete_table(TableName=each)


def as_json(value: object) -> str:
    return json.dumps(value, sort_keys=True)


@functools.cache
def parsed(text: str) -> Any:
    """JSON text, to be read only."""
    return json.loads(text)


@functools.cache
def edited(text: str, changes: tuple[tuple[str, str], ...]) -> str:
    """A JSON object with members replaced; the new values are JSON text."""
    return as_json(parsed(text) | {name: json.loads(value) for name, value in changes})


def with_number(record: str, attribute: str, number: int) -> str:
    """The record seen later: one of its times, relative to a present that stands still."""
    return edited(record, ((attribute, as_json({"N": str(number)})),))


def number(item: Mapping[str, Any], name: str, otherwise: int | None = None) -> int:
    return otherwise if otherwise is not None and name not in item else int(item[name]["N"])


def text(item: Mapping[str, Any], name: str) -> str:
    value: str = item[name]["S"]
    return value


def time_of(record: Record, attribute: str) -> int | None:
    return None if record is None or attribute not in parsed(record) else number(parsed(record), attribute)


def is_open(record: Record) -> bool:
    """In progress, which only a running or a new execution ends."""
    return record is not None and text(parsed(record), "status") == "IN_PROGRESS"


@functools.cache
def projected(record: str, call: str) -> str:
    """GetItem's answer for these arguments."""
    arguments = json.loads(call)
    if "ProjectionExpression" not in arguments:
        return as_json({"Item": parsed(record)})
    names = arguments.get("ExpressionAttributeNames", {})
    wanted = [names.get(part.strip(), part.strip()) for part in arguments["ProjectionExpression"].split(",")]
    item = parsed(record)
    return as_json({"Item": {name: item[name] for name in wanted if name in item}})
