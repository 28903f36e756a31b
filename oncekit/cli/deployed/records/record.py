"""Records as an operator sees them: read consistently, written only as they were shown."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Mapping
from typing import Any

from oncekit.cli.deployed.records.attributes import OPEN, check
from oncekit.cli.deployed.stack import Stack
from oncekit.cli.problem import Problem
from oncekit.local.items import plain_item

OPERATOR = ":operator-"
"""In an owner: no execution, but an operator, who has the lock until the next execution takes it over."""
RELEASED = "ReleasedByOperator"
"""The error of a record whose lock an operator released: nothing failed, and a new request starts afresh."""

Record = Mapping[str, Any]


class Missing(Problem):
    """There is no record of an id."""


class Changed(Exception):
    """The record is not, or no longer, as the command needs it; exit code 3."""


def hash_of(id: str) -> str:
    return hashlib.sha256(id.encode()).hexdigest()


def find(stack: Stack, id: str) -> Record:
    """The record of an id, read consistently, expired or not. Raises Missing, or Problem for an odd one."""
    if id.count("#") < 2:
        what = "an execution; what is asked for is the id of its request: " if id.startswith("arn:") else "an id is "
        raise Problem(f"{id}: {what}tenant#operation#idempotencyKey, in quotes for the shell")
    item = stack.client("dynamodb").get_item(TableName=stack.table, Key={"id": {"S": id}}, ConsistentRead=True)
    if not item.get("Item"):
        raise Missing(
            f"{id}: there is no such record in the stack {stack.name}; an id is tenant#operation#idempotencyKey"
        )
    check(id, item["Item"])
    return plain_item(item["Item"])


def read(stack: Stack, id: str, *statuses: str) -> Record:
    """The record of an id, in one of these statuses where some are given.

    Raises Problem when there is none, and Changed when it is in another status or has expired.
    """
    record = find(stack, id)
    if has_expired(stack, record):
        raise Changed(f"{id}: its record has expired; the next request with this id starts afresh; nothing was changed")
    if statuses and record["status"] not in statuses:
        raise Changed(f"{id}: it is {record['status']}, not {' or '.join(statuses)}; nothing was changed")
    return record


def is_there(stack: Stack, id: str) -> bool:
    """Whether an id has a record, in whatever form; an expired one counts, too."""
    key = {"id": {"S": id}}
    return "Item" in stack.client("dynamodb").get_item(TableName=stack.table, Key=key, ConsistentRead=True)


def has_expired(stack: Stack, record: Record) -> bool:
    return "expiresAt" in record and record["expiresAt"] < stack.now()


def write(stack: Stack, shown: Record, update: str, values: Mapping[str, Any], then: Mapping[str, Any]) -> None:
    """Update the record if status, owner, fence and the lease of an open one are still those shown; else raise Changed.

    `then` is what the record has after this very call: botocore repeats a call whose answer was lost, and the second
    one finds what the first one wrote.
    """
    from boto3.dynamodb.types import TypeSerializer
    from botocore.exceptions import ClientError

    encode = TypeSerializer().serialize
    names = {f"#{name}": name for name in ("status", "owner", "request", "result", "error", "steps")}
    condition = "#status = :was AND #owner = :theirs AND fence = :fence"
    shown_values = {":was": shown["status"], ":theirs": shown["owner"], ":fence": shown["fence"]}
    if shown["status"] in OPEN:  # a revived owner gets a new lease under the same fence
        condition += " AND leaseExpiresAt = :lease"
        shown_values[":lease"] = shown["leaseExpiresAt"]
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
        if not _has(stack, shown["id"], then):
            raise changed(stack, shown["id"]) from error


def _has(stack: Stack, id: str, then: Mapping[str, Any]) -> bool:
    try:
        now = find(stack, id)
    except Problem:
        return False
    return all(now.get(name) == value for name, value in then.items())


def changed(stack: Stack, id: str) -> Changed:
    try:
        now = read(stack, id)
    except (Problem, Changed) as gone:
        return Changed(f"{str(gone).removesuffix('; nothing was changed')}; nothing was changed")
    return Changed(
        f"{id}: changed meanwhile, nothing was done: now {now['status']}, fence {now['fence']}, owner {now['owner']}"
    )


def new_operator(stack: Stack) -> str:
    """An owner that no execution ever has: a well-formed ARN, so that asking for it gives ExecutionDoesNotExist."""
    return stack.execution(f"operator-{uuid.uuid4().hex[:12]}")
