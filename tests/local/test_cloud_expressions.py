"""Update expressions mean what they mean on DynamoDB, also when their parsed text is used again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from boto3.dynamodb.types import TypeDeserializer, TypeSerializer
from botocore.exceptions import ClientError

from oncekit.local import LocalCloud
from oncekit.local.expressions import quick_update_expressions

pytestmark = pytest.mark.ours

ITEM = {"id": "1", "n": 5, "list": ["a", "b", "c"], "map": {"x": 1, "y": {"z": 2}}, "set": {1, 2}}
TABLE = "expressions"


@pytest.fixture
def dynamodb(cloud: LocalCloud) -> Iterator[Any]:
    client = cloud.client("dynamodb")
    client.create_table(
        TableName=TABLE,
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    yield client
    client.delete_table(TableName=TABLE)


def update(dynamodb: Any, expression: str, **values: Any) -> dict[str, Any]:
    """What the item is after one update of a fresh `ITEM`; `#set` and the like name themselves."""
    encode, decode = TypeSerializer().serialize, TypeDeserializer().deserialize
    dynamodb.put_item(TableName=TABLE, Item={key: encode(value) for key, value in ITEM.items()})
    names = {f"#{word}": word for word in ("n", "list", "map", "set") if f"#{word}" in expression}
    given: dict[str, Any] = {}
    if names:
        given["ExpressionAttributeNames"] = names
    if values:
        given["ExpressionAttributeValues"] = {f":{key}": encode(value) for key, value in values.items()}
    dynamodb.update_item(TableName=TABLE, Key={"id": {"S": "1"}}, UpdateExpression=expression, **given)
    item = dynamodb.get_item(TableName=TABLE, Key={"id": {"S": "1"}})["Item"]
    return {key: decode(value) for key, value in item.items()}


@pytest.mark.aws(
    "DynamoDB Developer Guide, Condition expressions",
    "the operation succeeds only if a specific ConditionExpression evaluates to true",
)
@pytest.mark.parametrize(
    ("expression", "values", "changed"),
    [
        ("SET #n = #n + :one", {"one": 1}, {"n": 6}),
        ("SET #n = :two - #n", {"two": 2}, {"n": -3}),
        ("SET fence = if_not_exists(fence, :zero) + :one", {"zero": 0, "one": 1}, {"fence": 1}),
        ("SET #n = if_not_exists(#n, :zero) + :one", {"zero": 0, "one": 1}, {"n": 6}),
        ("SET #list = list_append(#list, :more)", {"more": ["d"]}, {"list": ["a", "b", "c", "d"]}),
        ("SET #map.y.z = :v, #map.w = :v", {"v": 9}, {"map": {"x": 1, "y": {"z": 9}, "w": 9}}),
        ("SET #list[1] = :v", {"v": "B"}, {"list": ["a", "B", "c"]}),
        ("REMOVE #list[0], #list[2]", {}, {"list": ["b"]}),
        ("REMOVE #map.y, absent", {}, {"map": {"x": 1}}),
        ("ADD #n :one, #set :new", {"one": 1, "new": {3}}, {"n": 6, "set": {1, 2, 3}}),
        ("DELETE #set :old", {"old": {2}}, {"set": {1}}),
        ("SET a = :v, b = #n REMOVE #map ADD #n :v", {"v": 1}, {"a": 1, "b": 5, "map": None, "n": 6}),
    ],
)
def test_update_does_what_it_says_each_time(
    dynamodb: Any, expression: str, values: dict[str, Any], changed: dict[str, Any]
) -> None:
    expected = {key: value for key, value in {**ITEM, **changed}.items() if value is not None}
    assert update(dynamodb, expression, **values) == expected
    assert update(dynamodb, expression, **values) == expected


def test_same_text_takes_the_values_of_each_call(dynamodb: Any) -> None:
    assert [update(dynamodb, "SET #n = :v", v=v)["n"] for v in (1, "text", 3)] == [1, "text", 3]


@pytest.mark.aws(
    "DynamoDB Developer Guide, Condition expressions",
    "the operation succeeds only if a specific ConditionExpression evaluates to true",
)
@pytest.mark.parametrize(
    ("expression", "values"),
    [
        ("SET id = :v", {"v": "2"}),
        ("SET #n = :v, #n = :v", {"v": 1}),
        ("SET #map = :v, #map.x = :v SET #n = :v", {"v": 1}),
        ("SET #map.x = :v, #map.x.y = :v", {"v": 1}),
        ("SET #n = absent", {}),
        ("SET #n = #n + :text", {"text": "x"}),
        ("SET #n = ", {}),
    ],
)
def test_wrong_update_is_refused_each_time_and_changes_nothing(
    dynamodb: Any, expression: str, values: dict[str, Any]
) -> None:
    for _ in range(2):
        with pytest.raises(ClientError) as refused:
            update(dynamodb, expression, **values)
        assert refused.value.response["Error"]["Code"] == "ValidationException"
    item = dynamodb.get_item(TableName=TABLE, Key={"id": {"S": "1"}})["Item"]
    assert item["n"] == {"N": "5"}


def test_opened_once_more_it_leaves_what_was_noted_alone(cloud: LocalCloud) -> None:
    write = {
        "TableName": cloud.resources["IdempotencyTable"],
        "Key": {"id": {"S": "nested"}},
        "UpdateExpression": "SET #a = :one REMOVE b, c ADD n :one",
        "ExpressionAttributeNames": {"#a": "a"},
        "ExpressionAttributeValues": {":one": {"N": "1"}},
    }
    cloud.client("dynamodb").update_item(**write)
    with quick_update_expressions():
        cloud.client("dynamodb").update_item(**write)
    cloud.client("dynamodb").update_item(**write)
    assert cloud.record("nested") == {"id": "nested", "a": 1, "n": 3}
