"""What DynamoDB answers, on what stands in for it: moto, with the local cloud's corrections.

The rows are facts of a public suite that runs against AWS itself, written anew: test/alternator of scylladb/scylladb
(test_condition_expression.py, test_update_expression.py, test_returnvalues.py, test_transact.py); those of
refused updates are in mhart/dynalite, test/updateItem.js, too.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from botocore.exceptions import ClientError
from once.values import from_dynamodb, to_dynamodb

from oncekit.local import LocalCloud

pytestmark = [
    pytest.mark.aws(
        suite="scylladb/scylladb, test/alternator/README.md",
        says="Use the --aws option to run tests against AWS DynamoDB.",
    ),
    pytest.mark.aws(unconfirmed="V39"),
]

Item = dict[str, Any]
TABLE = "conformance"
FAILED, INVALID = "ConditionalCheckFailedException", "ValidationException"
VALUES: Item = {":0": 0, ":1": 1, ":2": 2, ":10": 10, ":digits": 10**38 - 1, ":x": "x", ":empty": "", ":type": "M"}
VALUES |= {":bytes": b"\x00\xff", ":map": {"y": "2", "x": 1}, ":set": {"e"}, ":bytesSet": {b"b"}}
"""Only those are sent that the expressions name: DynamoDB refuses one that nobody uses."""
CONDITIONS: list[tuple[str, Item | None, bool]] = [
    # what is not there; {} is an item of a key alone
    ("attribute_not_exists(id)", None, True),
    ("attribute_not_exists(id)", {}, False),
    ("attribute_exists(id)", None, False),
    ("b = :1", {}, False),
    ("b <> :1", {}, True),
    ("b <> :1", None, True),
    ("b <> c", None, True),
    ("b = c", None, False),
    ("b < :1", None, False),
    ("b <= :1", {}, False),
    ("b > :1", {}, False),
    ("b BETWEEN :1 AND :1", {}, False),
    ("NOT b < :1", None, True),
    ("attribute_not_exists(id) OR expiresAt < :1", None, True),
    ("attribute_not_exists(id) OR expiresAt < :1", {}, False),
    ("steps.pay = :1", {"b": 1}, False),
    ("attribute_not_exists(steps.pay)", {"steps": {}}, True),
    ("attribute_not_exists(steps.pay)", {"steps": {"pay": 2}}, False),
    ("attribute_type(b, :type)", None, False),
    ("size(b) = :1", {}, False),
    # values
    ("b < :10", {"b": 9}, True),
    ("b = :1", {"b": Decimal("1.0")}, True),
    ("b = :digits", {"b": 10**38 - 1}, True),
    ("b = :1", {"b": "1"}, False),
    ("b < :1", {"b": "0"}, False),
    ("b < :x", {"b": "Z"}, True),
    ("b = :map", {"b": {"x": 1, "y": "2"}}, True),
    ("b IN (:1, :10)", {"b": 10}, True),
    ("b BETWEEN :1 AND :10", {"b": 10}, True),
    ("size(b) = :1", {"b": "1"}, True),
    ("size(b) = :1", {"b": 1}, False),
    ("attribute_type(b, :type)", {"b": {}}, True),
    ("begins_with(b, :x)", {"b": "xy"}, True),
    ("contains(b, :x)", {"b": {"x"}}, True),
    ("b = :bytes", {"b": b"\x00\xff"}, True),
    ("b = :bytes", {"b": "\x00"}, False),
    ("contains(b, :bytes)", {"b": {b"\x00\xff"}}, True),
    ("begins_with(b, :bytes)", {"b": b"\x00\xff\x01"}, True),
    ("b < :bytes", {"b": b"\x00\x01"}, True),
    ("b > :bytes", {"b": b"\xff"}, True),
    ("size(b) = :2", {"b": b"\x00\xff"}, True),
    # precedence
    ("b = :1 OR b = :2 AND c = :2", {"b": 1, "c": 1}, True),
    ("(b = :1 OR b = :2) AND c = :2", {"b": 1, "c": 1}, False),
    ("NOT b = :2 AND c = :2", {"b": 1, "c": 1}, False),
    ("b = :1 OR c = :2", {"b": 1}, True),
]
"""A condition, the item that is there, and whether it holds."""
UPDATES: list[tuple[str, Item | None, Item | None]] = [
    ("SET steps.pay = :1", {"steps": {}}, {"steps": {"pay": 1}}),
    ("SET steps.pay = :1", {}, None),
    ("SET steps.pay = :1", None, None),
    ("REMOVE steps.x", {"steps": {"pay": 1}}, {"steps": {"pay": 1}}),
    ("REMOVE steps", {"b": 1}, {"b": 1}),
    ("SET fence = if_not_exists(fence, :0) + :1", None, {"fence": 1}),
    ("SET fence = if_not_exists(fence, :0) + :1", {"fence": 4}, {"fence": 5}),
    ("SET a = b, b = a", {"a": 1, "b": 2}, {"a": 2, "b": 1}),
    ("SET a = b + :1", {}, None),
    ("SET a = b + :1", {"b": "1"}, None),
    ("ADD a :1", None, {"a": 1}),
    ("ADD seen :set", None, {"seen": {"e"}}),
    ("ADD seen :set", {"seen": {"e"}}, {"seen": {"e"}}),
    ("DELETE seen :set", {"seen": {"e"}, "b": 1}, {"b": 1}),
    ("SET a = :bytes", None, {"a": b"\x00\xff"}),
    ("ADD seen :bytesSet", {"seen": {b"b"}}, {"seen": {b"b"}}),
    ("SET a = :1 REMOVE b", {"b": 2, "c": 3}, {"a": 1, "c": 3}),
    ("SET a = :1 REMOVE a", {"a": 2}, None),
    ("SET a = :map, a.b = :1", {"a": {}}, None),
    ("SET id = :x", None, None),
    ("SET a = :unknown", None, None),
    ("SET status = :1", None, None),
    ("SET openShard = :1", None, None),
    ("SET openShard = :empty", None, None),
]
"""An update, the item that is there, and the item afterwards; None when the update is refused."""


class Table:
    """A table with an index, as that of the records has one."""

    def __init__(self, client: Any) -> None:
        self.client = client

    def put(self, item: Item | None) -> str:
        """The key of the new item; None puts none there."""
        id = str(uuid.uuid4())
        if item is not None:
            self.client.put_item(TableName=TABLE, Item=to_dynamodb({"id": id, **item}, "it"))
        return id

    def get(self, id: str) -> Item | None:
        found = self.client.get_item(TableName=TABLE, Key={"id": {"S": id}}, ConsistentRead=True).get("Item")
        return None if found is None else {name: each for name, each in from_dynamodb(found).items() if name != "id"}

    def update(self, id: str, update: str, condition: str = "", unused: str = "", **more: Any) -> str:
        """The code of its error, empty when it is done."""
        named = {name: VALUES[name] for name in re.findall(r":\w+", f"{update} {condition} {unused}") if name in VALUES}
        given = {"ConditionExpression": condition, "ExpressionAttributeValues": to_dynamodb(named, "it")}
        key = {"TableName": TABLE, "Key": {"id": {"S": id}}, "UpdateExpression": update}
        try:
            self.client.update_item(**key, **{name: value for name, value in given.items() if value}, **more)
        except ClientError as error:
            return str(error.response["Error"]["Code"])
        return ""


@pytest.fixture
def table(cloud: LocalCloud) -> Iterator[Table]:
    client = cloud.client("dynamodb")
    types = {"id": "S", "openShard": "S", "leaseExpiresAt": "N"}
    shard = [{"AttributeName": "openShard", "KeyType": "HASH"}, {"AttributeName": "leaseExpiresAt", "KeyType": "RANGE"}]
    client.create_table(
        TableName=TABLE,
        BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": kind} for name, kind in types.items()],
        GlobalSecondaryIndexes=[
            {"IndexName": "open", "KeySchema": shard, "Projection": {"ProjectionType": "KEYS_ONLY"}}
        ],
    )
    yield Table(client)
    client.delete_table(TableName=TABLE)


@pytest.mark.parametrize(("condition", "stored", "holds"), CONDITIONS, ids=str)
def test_a_condition_holds_where_it_does_in_dynamodb(
    table: Table, condition: str, stored: Item | None, holds: bool
) -> None:
    id = table.put(stored)
    assert table.update(id, "SET done = :1", condition) == ("" if holds else FAILED)
    assert table.get(id) == ({**(stored or {}), "done": 1} if holds else stored)


@pytest.mark.parametrize(("update", "stored", "then"), UPDATES, ids=str)
def test_an_update_does_what_it_does_in_dynamodb(
    table: Table, update: str, stored: Item | None, then: Item | None
) -> None:
    id = table.put(stored)
    assert table.update(id, update) == ("" if then else INVALID)
    assert table.get(id) == (then or stored)


def test_a_name_or_a_value_that_nobody_uses_is_refused_before_the_condition(table: Table) -> None:
    id = table.put(None)
    assert table.update(id, "SET a = :1", "b = :1", unused=":2") == INVALID
    assert table.update(id, "SET a = :1", "b = :1", ExpressionAttributeNames={"#x": "x"}) == INVALID


# ---- transactions ----


def transact(table: Table, id: str, expression: str, token: str | None = None) -> None:
    key = {"TableName": TABLE, "Key": {"id": {"S": id}}, "ExpressionAttributeValues": {":1": {"N": "1"}}}
    given = {} if token is None else {"ClientRequestToken": token}
    table.client.transact_write_items(TransactItems=[{"Update": {**key, "UpdateExpression": expression}}], **given)


def test_transaction_that_is_sent_again_under_its_token_is_done_once(table: Table) -> None:
    id, token = table.put({"a": 1}), str(uuid.uuid4())
    for same in (None, None, token, token):
        transact(table, id, "SET a = a + :1", same)
    assert table.get(id) == {"a": 4}


def test_token_of_another_transaction_is_refused(table: Table) -> None:
    token = str(uuid.uuid4())
    transact(table, table.put(None), "SET a = :1", token)
    with pytest.raises(ClientError, match="IdempotentParameterMismatch"):
        transact(table, table.put(None), "SET a = :1", token)


@pytest.mark.parametrize("kind", ["Put", "Update", "Delete", "ConditionCheck"])
def test_a_value_that_an_act_of_a_transaction_does_not_use_is_refused(table: Table, kind: str) -> None:
    id = table.put({"a": 1})
    key = {"id": {"S": id}}
    acts: dict[str, Item] = {
        "Put": {"Item": key},
        "Update": {"Key": key, "UpdateExpression": "SET a = :2"},
        "Delete": {"Key": key},
        "ConditionCheck": {"Key": key},
    }
    values = {":1": {"N": "1"}, ":10": {"N": "10"}} | ({":2": {"N": "2"}} if kind == "Update" else {})
    act = {"TableName": TABLE, "ConditionExpression": "a = :1", "ExpressionAttributeValues": values, **acts[kind]}
    with pytest.raises(ClientError, match=r"ValidationException.*unused in expressions: keys: \{:10\}"):
        table.client.transact_write_items(TransactItems=[{kind: act}])
    assert table.get(id) == {"a": 1}


def test_a_value_that_a_put_or_a_deletion_does_not_use_is_refused(table: Table) -> None:
    id = table.put({"a": 1})
    given = {"TableName": TABLE, "ExpressionAttributeValues": {":1": {"N": "1"}}}
    for values in ({}, {"ConditionExpression": "attribute_exists(id)"}):
        with pytest.raises(ClientError, match="ValidationException"):
            table.client.put_item(Item={"id": {"S": id}}, **given, **values)
        with pytest.raises(ClientError, match="ValidationException"):
            table.client.delete_item(Key={"id": {"S": id}}, **given, **values)
    assert table.get(id) == {"a": 1}
