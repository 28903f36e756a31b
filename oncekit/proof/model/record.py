"""The record's table in the model: moto's own evaluation of condition and update expressions.

A record is its item as JSON text, None when there is none. The ledger counts what fenced steps have done.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from moto import mock_aws
from moto.dynamodb.comparisons import Func, Op, get_filter_expression
from moto.dynamodb.models import DynamoDBBackend, dynamodb_backends
from moto.dynamodb.models.dynamo_type import DynamoType, Item

Record = str | None
LEDGER = "ledger"
REGION = "eu-west-1"
"""Not the local cloud's: its tables may be open in this process."""
REMEMBERED = 10_000
"""Answers of each kind; a setting has some hundred."""


@dataclass(frozen=True)
class Table:
    """One table with one record, as a function from what is there and a call to what is there afterwards."""

    _name: str
    _backend: DynamoDBBackend = field(compare=False)
    _client: Any = field(compare=False)

    def update(self, record: Record, call: str) -> Record:
        """The record after UpdateItem with these arguments; None when its condition does not hold."""
        if not self._holds(_mentioned(record, call), call):
            return None
        arguments = json.loads(call)
        self._put(record)
        names, values = arguments.get("ExpressionAttributeNames", {}), arguments.get("ExpressionAttributeValues", {})
        item = self._backend.update_item(self._name, arguments["Key"], arguments["UpdateExpression"], names, values)
        return json.dumps(item.to_json()["Attributes"], sort_keys=True)

    def _holds(self, record: Record, call: str) -> bool:
        item = None if record is None else Item(DynamoType({"S": "id"}), None, json.loads(record))
        return bool(_parsed_condition(call).expr(item))

    def transact(self, record: Record, ledger: int, action: str, call: str) -> tuple[Record, int, str]:
        """Record, ledger and answer after a client's call; the answer of a refusal is a botocore error response."""
        self._put(record)
        self._backend.put_item(LEDGER, {"id": {"S": "effect"}, "n": {"N": str(ledger)}})
        # Without the token: whether DynamoDB still knows it is not what the promises rest on.
        arguments = {name: each for name, each in json.loads(call).items() if name != "ClientRequestToken"}
        try:
            answer = getattr(self._client, action)(**arguments)
        except self._client.exceptions.ClientError as error:
            status = error.response["ResponseMetadata"]["HTTPStatusCode"]
            answer = {**error.response, "ResponseMetadata": {"HTTPStatusCode": status}}
        else:
            answer.pop("ResponseMetadata", None)
        [effects] = self._items(LEDGER)
        record = next((json.dumps(item, sort_keys=True) for item in self._items(self._name)), None)
        return record, int(effects["n"]["N"]), json.dumps(answer, sort_keys=True)

    def _put(self, record: Record) -> None:
        self._backend.tables[self._name].items.clear()
        if record is not None:
            self._backend.put_item(self._name, json.loads(record))

    def _items(self, table: str) -> list[dict[str, Any]]:
        return [item.to_json()["Attributes"] for item in self._backend.tables[table].items.values()]


class Remembering(Table):
    """A table that is asked each question once. Tables of a name answer alike, so it is asked once for all settings."""

    update = functools.lru_cache(REMEMBERED)(Table.update)
    transact = functools.lru_cache(REMEMBERED)(Table.transact)
    _holds = functools.lru_cache(REMEMBERED)(Table._holds)


@contextmanager
def table(name: str, kind: type[Table] = Table) -> Iterator[Table]:
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
            yield kind(name, backend, client)
        finally:  # inside a local cloud the mock forgets nothing
            for each in (name, LEDGER):
                client.delete_table(TableName=each)


@functools.cache
def parsed(record: str) -> dict[str, Any]:
    """The record's attributes, to be read only."""
    item: dict[str, Any] = json.loads(record)
    return item


@functools.cache
def _parsed_condition(call: str) -> Op | Func:
    arguments = json.loads(call)
    return get_filter_expression(
        arguments.get("ConditionExpression"),
        arguments.get("ExpressionAttributeNames"),
        arguments.get("ExpressionAttributeValues"),
    )


@functools.cache
def _names_in(condition: str, names: str) -> frozenset[str]:
    real = json.loads(names)
    return frozenset(real.get(word, word) for word in re.findall(r"(?<!:)[#\w]+", condition))


def _mentioned(record: Record, call: str) -> Record:
    """Of the record only what the condition speaks of: all that its outcome depends on."""
    if record is None:
        return None
    arguments = json.loads(call)
    names = json.dumps(arguments.get("ExpressionAttributeNames", {}))
    wanted = _names_in(arguments.get("ConditionExpression", ""), names)
    return json.dumps({name: value for name, value in parsed(record).items() if name in wanted}, sort_keys=True)


@functools.cache
def projected(record: str, call: str) -> str:
    """GetItem's answer for these arguments."""
    arguments = json.loads(call)
    names = arguments.get("ExpressionAttributeNames", {})
    wanted = [names.get(part.strip(), part.strip()) for part in arguments.get("ProjectionExpression", "").split(",")]
    item = parsed(record)
    shown = item if wanted == [""] else {name: item[name] for name in wanted if name in item}
    return json.dumps({"Item": shown}, sort_keys=True)


@functools.cache
def moved(record: str, attribute: str, to: int) -> str:
    """The record seen later: one of its times, relative to a present that stands still."""
    return json.dumps(parsed(record) | {attribute: {"N": str(to)}}, sort_keys=True)


def time_of(record: Record, attribute: str) -> int | None:
    if record is None or attribute not in parsed(record):
        return None
    return int(parsed(record)[attribute]["N"])
