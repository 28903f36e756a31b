"""Records as an operator sees them: read consistently, written only as they were shown.

A function with fenced steps may write anything into its own record. A command on one record refuses what Once did not
write; a list says that it is there.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Collection, Mapping
from typing import Any

from oncekit.contract.items import plain_item
from oncekit.contract.record_form import ODD, OPEN, is_whole
from oncekit.problem import Problem
from oncekit.stack.stack import Stack

Item = Mapping[str, Mapping[str, Any]]
"""As DynamoDB gives it, each value under its type."""
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
    answer = stack.client("dynamodb").get_item(TableName=stack.table, Key={"id": {"S": id}}, ConsistentRead=True)
    if "Item" not in answer:
        raise Missing(
            f"{id}: there is no such record in the stack {stack.name}; an id is tenant#operation#idempotencyKey"
        )
    if isinstance(record := read_item(answer["Item"]), str):
        raise Problem(
            f"{id}: {ODD}: a function with fenced steps, or somebody with access to the table, wrote it; "
            "see `aws dynamodb get-item`"
        )
    return record


def read_item(item: Item) -> Record | str:
    """A record that Once wrote; of any other, its id."""
    record = plain_item(item)
    return record if is_whole(record) else str(record["id"])


def stands(record: Record) -> str:
    """How a record stands, as far as one decides by it; while that is the same, nobody else has done anything."""
    pending = ", pending" if is_pending(record) else ""
    return f"{record['status']}{pending}, fence {record['fence']}, owner {record['owner']}"


def read(stack: Stack, id: str, *statuses: str, seen: str | None = None) -> Record:
    """The record of an id, in one of these statuses where some are given, and as `stands` told of it where it was seen.

    Raises Problem when there is none, and Changed when it is another one or has expired.
    """
    record = find(stack, id)
    if seen is not None and seen != stands(record):
        raise Changed(
            f"{id}: changed since it was shown, nothing was done: it was {seen}, and is {stands(record)}; look again"
        )
    if has_expired(stack, record):
        raise Changed(f"{id}: its record has expired; the next request with this id starts afresh; nothing was changed")
    if statuses and record["status"] not in statuses:
        raise Changed(f"{id}: it is {record['status']}, not {' or '.join(statuses)}; nothing was changed")
    return record


def is_pending(record: Record) -> bool:
    """Whether it waits for work elsewhere, or has waited in vain until its lease was over: nobody works here."""
    return record["status"] == "IN_PROGRESS" and "pendingSince" in record


def has_expired(stack: Stack, record: Record) -> bool:
    return "expiresAt" in record and record["expiresAt"] < stack.now()


def write(stack: Stack, shown: Record, sets: Mapping[str, Any], removes: Collection[str]) -> None:
    """Update the record if status, owner, fence and the lease of an open one are still those shown; else raise Changed.

    `sets` has the owner and the fence of this very call: botocore repeats a call whose answer was lost, and the second
    one finds what the first one wrote.
    """
    from boto3.dynamodb.types import TypeSerializer

    # A revived owner gets a new lease under the same fence.
    guards = ("status", "owner", "fence", *(["leaseExpiresAt"] if shown["status"] in OPEN else []))
    values = {**{f":was_{name}": shown[name] for name in guards}, **{f":{name}": sets[name] for name in sets}}
    client, encode = stack.client("dynamodb"), TypeSerializer().serialize
    try:
        client.update_item(
            TableName=stack.table,
            Key={"id": {"S": shown["id"]}},
            ConditionExpression=" AND ".join(f"#{name} = :was_{name}" for name in guards),
            UpdateExpression=f"SET {', '.join(f'#{name} = :{name}' for name in sets)} "
            f"REMOVE {', '.join(f'#{name}' for name in removes)}",
            ExpressionAttributeNames={f"#{name}": name for name in (*guards, *sets, *removes)},
            ExpressionAttributeValues={key: encode(value) for key, value in values.items()},
        )
    except client.exceptions.ConditionalCheckFailedException as error:
        now = find(stack, shown["id"])
        if any(now.get(name) != sets[name] for name in ("status", "owner", "fence")):
            raise Changed(f"{shown['id']}: changed meanwhile, nothing was done: now {stands(now)}") from error


def new_operator(stack: Stack) -> str:
    """An owner that no execution ever has: a well-formed ARN, so that asking for it gives ExecutionDoesNotExist."""
    return stack.execution(f"operator-{uuid.uuid4().hex[:12]}")
