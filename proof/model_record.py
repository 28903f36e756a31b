"""The record's table in the model: moto's own evaluation of condition and update expressions, each asked once.

A record is its item as JSON text, None when there is none. The ledger counts what fenced steps have done.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from moto import mock_aws
from moto.dynamodb.exceptions import ConditionalCheckFailed
from moto.dynamodb.models import DynamoDBBackend, dynamodb_backends

Record = str | None
LEDGER = "ledger"


class ConditionFailed(Exception):
    """The write was refused; nothing has changed."""


class Table:
    """One table with one record, as a function from what is there and a call to what is there afterwards."""

    def __init__(self, backend: DynamoDBBackend, name: str, client: Any) -> None:
        self._backend = backend
        self._name = name
        self._client = client
        self.update = functools.cache(self._update)
        self.transact = functools.cache(self._transact)

    def _update(self, record: Record, call: str) -> str:
        """The record after UpdateItem with these arguments. Raises ConditionFailed."""
        arguments = json.loads(call)
        self._put(record)
        try:
            item = self._backend.update_item(
                self._name,
                arguments["Key"],
                arguments["UpdateExpression"],
                arguments.get("ExpressionAttributeNames", {}),
                arguments.get("ExpressionAttributeValues", {}),
                condition_expression=arguments.get("ConditionExpression"),
            )
        except ConditionalCheckFailed as refused:
            raise ConditionFailed from refused
        return json.dumps(item.to_json()["Attributes"], sort_keys=True)

    def _transact(self, record: Record, ledger: int, action: str, call: str) -> tuple[Record, int, str]:
        """Record, ledger and answer after a client's call; the answer of a refusal is a botocore error response."""
        self._put(record)
        self._client.put_item(TableName=LEDGER, Item={"id": {"S": "effect"}, "n": {"N": str(ledger)}})
        try:
            answer = getattr(self._client, action)(**json.loads(call))
        except self._client.exceptions.ClientError as error:
            answer = error.response
        answer.pop("ResponseMetadata", None)
        effects = self._client.get_item(TableName=LEDGER, Key={"id": {"S": "effect"}})["Item"]["n"]["N"]
        return self._get(), int(effects), json.dumps(answer, sort_keys=True)

    def _put(self, record: Record) -> None:
        self._backend.tables[self._name].items.clear()
        if record is not None:
            self._backend.put_item(self._name, json.loads(record))

    def _get(self) -> Record:
        for item in self._backend.tables[self._name].items.values():
            return json.dumps(item.to_json()["Attributes"], sort_keys=True)
        return None


@contextmanager
def table(name: str) -> Iterator[Table]:
    """The record's table and the ledger, empty."""
    import boto3

    with mock_aws():
        client: Any = boto3.client(
            "dynamodb", region_name="us-east-1", aws_access_key_id="local", aws_secret_access_key="local"
        )
        for each in (name, LEDGER):
            client.create_table(
                TableName=each,
                KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
                AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
                BillingMode="PAY_PER_REQUEST",
            )
        backend = next(
            backend["us-east-1"] for backend in dynamodb_backends.values() if name in backend["us-east-1"].tables
        )
        yield Table(backend, name, client)


@functools.cache
def parsed(record: str) -> dict[str, Any]:
    """The record's attributes, to be read only."""
    item: dict[str, Any] = json.loads(record)
    return item


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


Transact = Callable[[Record, int, str, str], tuple[Record, int, str]]
