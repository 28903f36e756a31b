"""Records as an operator sees them: found through the index, read consistently, written only as they were shown."""

from __future__ import annotations

import hashlib
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from cli.problem import Problem
from cli.stack import Stack

INDEX = "open-operations"
STATUSES = ("IN_PROGRESS", "QUARANTINED")
OPERATOR = ":operator-"
"""In an owner: no execution, but an operator, who has the lock until the next execution takes it over."""

Record = Mapping[str, Any]


class Changed(Exception):
    """The record is no longer the one that was shown; exit code 3."""


def shard_of(id: str) -> str:
    return hashlib.sha256(id.encode()).hexdigest()[0]


def read(stack: Stack, id: str) -> Record:
    """The record of an id, read consistently. Raises Problem when there is none."""
    item = stack.client("dynamodb").get_item(TableName=stack.table, Key={"id": {"S": id}}, ConsistentRead=True)
    if not item.get("Item"):
        raise Problem(f"{id}: there is no record; an id is tenant#operation#idempotencyKey")
    record = plain(item["Item"])
    if "expiresAt" in record and record["expiresAt"] < stack.now():
        raise Problem(f"{id}: its record has expired; the next request with this id starts afresh")
    return record


def open_ids(stack: Stack, statuses: Sequence[str]) -> Iterator[str]:
    """Ids of open records, through all 16 shards, earliest end of lease first within a shard."""
    pages = stack.client("dynamodb").get_paginator("query")
    for status in statuses:
        for digit in "0123456789abcdef":
            for page in pages.paginate(
                TableName=stack.table,
                IndexName=INDEX,
                KeyConditionExpression="openShard = :shard",
                ExpressionAttributeValues={":shard": {"S": f"{status}#{digit}"}},
            ):
                yield from (item["id"]["S"] for item in page["Items"])


def read_all(stack: Stack, ids: Sequence[str]) -> Iterator[Record]:
    """The records of ids, consistently; keys that DynamoDB leaves over are asked for again."""
    client = stack.client("dynamodb")
    for start in range(0, len(ids), 100):
        keys = [{"id": {"S": id}} for id in ids[start : start + 100]]
        pause = 0.05
        while keys:
            answer = client.batch_get_item(RequestItems={stack.table: {"Keys": keys, "ConsistentRead": True}})
            yield from (plain(item) for item in answer["Responses"].get(stack.table, ()))
            keys = answer.get("UnprocessedKeys", {}).get(stack.table, {}).get("Keys", [])
            if keys:
                time.sleep(pause)
                pause = min(pause * 2, 5)


def write(stack: Stack, shown: Record, update: str, values: Mapping[str, Any]) -> None:
    """Update the record if status, owner and fence are still those shown. Raises Changed otherwise.

    `:mark` and `:next` are an owner that no execution has and the next fence, for an operator's word to stand: whatever
    still runs for the old owner can change nothing more.
    """
    from boto3.dynamodb.types import TypeSerializer
    from botocore.exceptions import ClientError

    encode = TypeSerializer().serialize
    names = {f"#{name}": name for name in ("status", "owner", "result", "error", "steps")}
    shown_values = {":was": shown["status"], ":theirs": shown["owner"], ":fence": shown["fence"]}
    condition = "#status = :was AND #owner = :theirs AND fence = :fence"
    try:
        stack.client("dynamodb").update_item(
            TableName=stack.table,
            Key={"id": {"S": shown["id"]}},
            ConditionExpression=condition,
            UpdateExpression=update,
            ExpressionAttributeNames={key: name for key, name in names.items() if key in update + condition},
            ExpressionAttributeValues={key: encode(value) for key, value in {**shown_values, **values}.items()},
        )
    except ClientError as error:
        if error.response["Error"]["Code"] != "ConditionalCheckFailedException":
            raise
        raise changed(stack, shown["id"]) from error


def changed(stack: Stack, id: str) -> Changed:
    try:
        now = read(stack, id)
    except Problem as gone:
        return Changed(f"{gone}; nothing was changed")
    return Changed(
        f"{id}: changed meanwhile, nothing was done: now {now['status']}, fence {now['fence']}, owner {now['owner']}"
    )


def mark(stack: Stack) -> str:
    """An owner that no execution ever has: a well-formed ARN, so that asking for it gives ExecutionDoesNotExist."""
    return stack.execution(f"operator-{uuid.uuid4()}")


def plain(item: Mapping[str, Any]) -> Record:
    from boto3.dynamodb.types import TypeDeserializer

    decode = TypeDeserializer().deserialize
    return {key: _plain(decode(value)) for key, value in item.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, dict):
        return {key: _plain(member) for key, member in value.items()}
    return [_plain(member) for member in value] if isinstance(value, list) else value
