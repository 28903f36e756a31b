"""The short way to a service gives and raises what the long way does."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError
from engine_machines import END, create

from oncekit.local import LocalCloud
from oncekit.local.engine import shortcut

pytestmark = pytest.mark.ours

KEY = {"id": {"S": "k"}}
ITEM = {
    **KEY,
    "text": {"S": "ü"},
    "number": {"N": "1.5"},
    "null": {"NULL": True},
    "binary": {"B": b"\x00\xff"},
    "map": {"M": {"list": {"L": [{"BOOL": False}, {"SS": ["a", "b"]}]}}},
    "openShard": {"S": "IN_PROGRESS#0"},
    "leaseExpiresAt": {"N": "5"},
}
SHARD = {
    "IndexName": "open-operations",
    "KeyConditionExpression": "openShard = :s",
    "ExpressionAttributeValues": {":s": {"S": "IN_PROGRESS#0"}},
}
SET = {"Key": KEY, "UpdateExpression": "SET #a = :a", "ExpressionAttributeNames": {"#a": "number"}}
ONE = {"ExpressionAttributeValues": {":a": {"N": "1"}}}
REFUSED = {**SET, **ONE, "ConditionExpression": "attribute_not_exists(id)"}

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("get_item", {"Key": KEY, "ConsistentRead": True}),
    ("get_item", {"Key": {"id": {"S": "missing"}}}),
    ("get_item", {"Key": KEY, "ProjectionExpression": "#a, map", "ExpressionAttributeNames": {"#a": "text"}}),
    ("get_item", {"Key": {"wrong": {"S": "k"}}}),
    ("get_item", {"Key": KEY, "TableName": "gone"}),
    ("query", SHARD),
    ("query", {**SHARD, "Select": "COUNT"}),
    ("query", {**SHARD, "Limit": 1}),
    ("query", {**SHARD, "IndexName": "gone"}),
    ("update_item", {**SET, **ONE, "ReturnValues": "ALL_NEW"}),
    ("update_item", {**SET, **ONE, "ReturnValues": "UPDATED_OLD"}),
    ("update_item", {**SET, **ONE}),
    ("update_item", REFUSED),
    ("update_item", {**REFUSED, "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}),
    ("update_item", SET),
    ("update_item", {**SET, **ONE, "UpdateExpression": "SET SET"}),
    ("update_item", {**SET, **ONE, "UpdateExpression": "SET #a = missing + :a"}),
]


def outcome(way: Any) -> Any:
    """What a call gave or raised, without what differs from call to call."""
    try:
        found = way()
    except ClientError as error:
        metadata = error.response["ResponseMetadata"]
        return type(error).__name__, {**error.response, "ResponseMetadata": metadata["HTTPStatusCode"]}, str(error)
    return {**found, "ResponseMetadata": found["ResponseMetadata"]["HTTPStatusCode"]}


@pytest.mark.parametrize(("action", "parameters"), CALLS)
def test_short_way_to_dynamodb_is_like_the_long_one(cloud: LocalCloud, action: str, parameters: dict[str, Any]) -> None:
    client = cloud.client("dynamodb")
    given = {"TableName": cloud.outputs["TableName"], **parameters}
    outcomes = []
    for way in (lambda: getattr(client, action)(**given), lambda: shortcut.call("dynamodb", action, given)):
        client.put_item(TableName=cloud.outputs["TableName"], Item=ITEM)
        outcomes.append(outcome(way))
    assert outcomes[0] == outcomes[1]


def test_what_a_call_gave_is_nobody_elses(cloud: LocalCloud) -> None:
    client, table = cloud.client("dynamodb"), cloud.outputs["TableName"]
    client.put_item(TableName=table, Item=ITEM)
    read = {"TableName": table, "Key": KEY}
    shortcut.call("dynamodb", "get_item", read)["Item"]["map"]["M"]["list"]["L"].clear()
    assert client.get_item(**read)["Item"] == ITEM
    value = {"M": {"a": {"L": [{"S": "x"}]}}}
    update = {**SET, "TableName": table, "ExpressionAttributeValues": {":a": value}}
    shortcut.call("dynamodb", "update_item", update)
    value["M"]["a"]["L"].clear()
    assert client.get_item(**read)["Item"]["number"] == {"M": {"a": {"L": [{"S": "x"}]}}}


@pytest.mark.parametrize(
    "given", [{"input": "{"}, {"name": "a b"}, {"stateMachineArn": "arn:aws:states:x"}, {"name": "taken"}]
)
def test_short_way_to_start_raises_what_the_long_one_does(cloud: LocalCloud, given: dict[str, str]) -> None:
    client = cloud.client("stepfunctions")
    machine = create(cloud, {"E": END})
    client.start_execution(stateMachineArn=machine, name="taken", input="1")
    parameters = {"stateMachineArn": machine, "name": "n", "input": "{}", **given}
    long = outcome(lambda: client.start_execution(**parameters))
    assert isinstance(long, tuple)
    assert outcome(lambda: shortcut.call("stepfunctions", "start_execution", parameters)) == long


def test_short_way_starts_an_execution(cloud: LocalCloud) -> None:
    parameters = {"stateMachineArn": create(cloud, {"E": END}), "name": "n"}
    started = shortcut.call("stepfunctions", "start_execution", parameters)
    assert cloud.wait(started["executionArn"]).input == {}
    assert started["startDate"].timestamp() == pytest.approx(cloud.clock.now(), abs=0.001)


@pytest.mark.parametrize(
    ("action", "given"),
    [
        ("describe_execution", {}),
        ("describe_execution", {"executionArn": "arn:aws:states:us-east-1:123456789012:execution:a:b"}),
        ("describe_execution", {"executionArn": "arn:aws:states:us-east-1:123456789012:express:a:b:c"}),
        ("get_execution_history", {}),
        ("get_execution_history", {"includeExecutionData": False, "reverseOrder": True}),
        ("get_execution_history", {"maxResults": 3}),
        ("get_execution_history", {"nextToken": "none of ours"}),
        ("list_executions", {"statusFilter": "SUCCEEDED"}),
        ("list_executions", {"maxResults": 1}),
    ],
)
def test_short_way_to_executions_is_like_the_long_one(cloud: LocalCloud, action: str, given: dict[str, Any]) -> None:
    client = cloud.client("stepfunctions")
    machine = create(cloud, {"P": {"Type": "Pass", "Output": {"a": [1, None]}, "Next": "E"}, "E": END})
    arns = [client.start_execution(stateMachineArn=machine, input=text)["executionArn"] for text in ("1", '{"b": "ü"}')]
    for arn in arns:
        cloud.wait(arn)
    of = {"stateMachineArn": machine} if action == "list_executions" else {"executionArn": arns[1]}
    parameters = {**of, **given}
    long = outcome(lambda: getattr(client, action)(**parameters))
    assert outcome(lambda: shortcut.call("stepfunctions", action, parameters)) == long
