"""What DynamoDB answers, on both engines that stand in for it: moto with the local cloud's lock, and Dynoxide.

The rows are facts of a public suite that runs against AWS itself, written anew: test/alternator of scylladb/scylladb
(test_condition_expression.py, test_update_expression.py, test_returnvalues.py, test_transact.py); those of
refused updates are in mhart/dynalite, test/updateItem.js, too. Where an engine is known to differ, `DIFFERS` says so.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from botocore import xform_name
from botocore.exceptions import ClientError
from dynamodb_rows import DIFFERS, FAILED, ONE, ROWS, Item, Row, n, s
from dynoxide import Connection, Refused, server

from oncekit.local import LocalCloud

pytestmark = [
    pytest.mark.aws(
        suite="scylladb/scylladb, test/alternator/README.md",
        says="Use the --aws option to run tests against AWS DynamoDB.",
    ),
    pytest.mark.aws(unconfirmed="V39"),
]

Call = Callable[[str, Item], Item]
TABLE = "conformance"


def moto(cloud: LocalCloud) -> Call:
    client = cloud.client("dynamodb")

    def call(action: str, body: Item) -> Item:
        try:
            answer: Item = getattr(client, xform_name(action))(**body)
        except ClientError as error:
            raise Refused(error.response["Error"]["Code"], json.dumps(error.response, default=str)) from error
        return answer

    return call


def dynoxide(connection: Connection) -> Call:
    return lambda action, body: connection.call(action, json.dumps(body))


@pytest.fixture(scope="module")
def other(dynoxide: None) -> Iterator[Connection]:
    with server(TABLE) as port:
        connection = Connection(port)
        connection.call("DeleteTable", json.dumps({"TableName": TABLE}))
        connection.call("CreateTable", json.dumps(TABLE_DEFINITION))
        yield connection


TABLE_DEFINITION: Item = {
    "TableName": TABLE,
    "BillingMode": "PAY_PER_REQUEST",
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    "AttributeDefinitions": [
        {"AttributeName": "id", "AttributeType": "S"},
        {"AttributeName": "openShard", "AttributeType": "S"},
        {"AttributeName": "leaseExpiresAt", "AttributeType": "N"},
    ],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "open",
            "KeySchema": [
                {"AttributeName": "openShard", "KeyType": "HASH"},
                {"AttributeName": "leaseExpiresAt", "KeyType": "RANGE"},
            ],
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        }
    ],
}


@pytest.fixture(params=["moto", "dynoxide"])
def engine(request: pytest.FixtureRequest, cloud: LocalCloud) -> Iterator[tuple[str, Call]]:
    if request.param == "dynoxide":
        yield "dynoxide", dynoxide(request.getfixturevalue("other"))
        return
    client = cloud.client("dynamodb")
    client.create_table(**TABLE_DEFINITION)
    try:
        yield "moto", moto(cloud)
    finally:
        client.delete_table(TableName=TABLE)


def put(call: Call, id: str, item: Item) -> None:
    call("PutItem", {"TableName": TABLE, "Item": {"id": s(id), **item}})


def get(call: Call, id: str) -> Item | None:
    found = call("GetItem", {"TableName": TABLE, "Key": {"id": s(id)}, "ConsistentRead": True}).get("Item")
    return None if found is None else plain({name: value for name, value in found.items() if name != "id"})


def plain(item: Any) -> Any:
    """Numbers as their value, sets in order."""
    if isinstance(item, dict):
        if set(item) == {"N"}:
            return {"N": str(item["N"]).removesuffix(".0")}
        return {name: sorted(value) if name in ("SS", "NS") else plain(value) for name, value in item.items()}
    return [plain(each) for each in item] if isinstance(item, list) else item


def difference(call: Call, row: Row) -> str | None:
    """How the engine's answer differs from the row's, None when it does not."""
    id = str(uuid.uuid4())
    if row.stored is not None:
        put(call, id, row.stored)
    body: Item = {"TableName": TABLE, "Key": {"id": s(id)}, "UpdateExpression": row.update, **row.more}
    body |= {"ConditionExpression": row.condition} if row.condition else {}
    body |= {"ExpressionAttributeValues": row.values} if row.values else {}
    body |= {"ExpressionAttributeNames": dict(row.names)} if row.names else {}
    try:
        answer, error = call("UpdateItem", body), ""
    except Refused as refused:
        answer, error = {}, refused.code
    if error != row.error:
        return f"{error or 'no error'} in place of {row.error or 'none'}"
    found, then = get(call, id), row.stored if row.then is None else row.then
    if found != (None if then is None else plain(then)):
        return f"{found} in place of {then}"
    if row.gives is not None and plain(answer.get("Attributes", {})) != plain(row.gives):
        return f"gives {answer.get('Attributes')} in place of {row.gives}"
    return None


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.about)
def test_update_does_and_answers_what_dynamodb_does(engine: tuple[str, Call], row: Row) -> None:
    name, call = engine
    differs = difference(call, row)
    assert (differs is not None) == (row.about in DIFFERS[name]), differs


# ---- conditions that fail, with the item that is there ----


def test_refusal_tells_the_item_only_when_it_is_asked_for(engine: tuple[str, Call]) -> None:
    _, call = engine
    put(call, "there", {"a": n(1)})
    body = {
        "TableName": TABLE,
        "Key": {"id": s("there")},
        "UpdateExpression": "SET a = :2",
        "ConditionExpression": "a = :2",
        "ExpressionAttributeValues": {":2": n(2)},
    }
    with pytest.raises(Refused, match=FAILED):
        call("UpdateItem", body)
    with pytest.raises(Refused) as refused:
        call("UpdateItem", {**body, "ReturnValuesOnConditionCheckFailure": "ALL_OLD"})
    assert refused.value.code == FAILED


# ---- transactions ----


def update(id: str, expression: str = "SET a = :1") -> Item:
    key = {"TableName": TABLE, "Key": {"id": s(id)}}
    return {"Update": {**key, "UpdateExpression": expression, "ExpressionAttributeValues": ONE}}


def transact(call: Call, *actions: Item, token: str | None = None) -> Item:
    body: Item = {"TransactItems": list(actions)}
    return call("TransactWriteItems", {**body, **({"ClientRequestToken": token} if token else {})})


def test_transaction_that_is_sent_again_under_its_token_is_done_once(engine: tuple[str, Call]) -> None:
    _, call = engine
    id, token = str(uuid.uuid4()), str(uuid.uuid4())
    put(call, id, {"a": n(1)})
    add = update(id, "SET a = a + :1")
    transact(call, add)
    transact(call, add)
    assert get(call, id) == {"a": n(3)}
    for _ in range(2):
        transact(call, add, token=token)
    assert get(call, id) == {"a": n(4)}


def test_token_of_another_transaction_is_refused(engine: tuple[str, Call]) -> None:
    _, call = engine
    token = str(uuid.uuid4())
    transact(call, update(str(uuid.uuid4())), token=token)
    with pytest.raises(Refused, match="IdempotentParameterMismatch"):
        transact(call, update(str(uuid.uuid4())), token=token)
