"""Open operations, through the sparse index, without reading more than is shown."""

from __future__ import annotations

import datetime
import heapq
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from oncekit.console.visible import short
from oncekit.contract.words import INDEX
from oncekit.stack.records import Record, is_pending, read_item
from oncekit.stack.stack import Stack

LONGEST_ID = 400
"""Characters that are printed: no id of a request has more."""
BATCH = 100
"""Keys that one BatchGetItem takes."""


class Listed(NamedTuple):
    """Operations, whether they are all, and the ids of records among them that Once did not write."""

    operations: list[dict[str, Any]]
    is_complete: bool
    odd: list[str]


def open_operations(
    stack: Stack,
    statuses: Sequence[str],
    overdue: bool,
    wanted: Callable[[str], bool],
    limit: int,
) -> Listed:
    """At most `limit`; complete when there are no more. `wanted` judges an id, before its record is read."""
    keys = heapq.merge(
        *(_shard(stack, f"{status}#{x}", overdue, limit) for status in statuses for x in "0123456789abcdef")
    )
    ids = (id for _, id in keys if wanted(id))
    found: dict[str, dict[str, Any]] = {}
    odd: dict[str, None] = {}
    while len(found) < limit and (batch := list(islice(ids, min(BATCH, limit - len(found))))):
        # An id is twice in the index while its record goes from one status to another.
        for record in read_all(stack, [id for id in dict.fromkeys(batch) if id not in found]):
            if isinstance(record, str):
                odd[record] = None
                continue
            operation = described(stack, record)
            is_due = operation["overdue"] or not overdue
            if record["status"] in statuses and is_due:  # the index lags behind
                found[record["id"]] = operation
    ordered = sorted(found.values(), key=lambda each: (each["leaseExpiresAt"], each["id"]))
    return Listed(ordered, next(ids, None) is None, [*odd])


def read_all(stack: Stack, ids: Sequence[str]) -> Iterator[Record | str]:
    """At most 100 ids, consistently, as `read_item` reads them; keys that DynamoDB leaves over are asked for again."""
    client = stack.client("dynamodb")
    keys = [{"id": {"S": id}} for id in ids]
    pause = 0.05
    while keys:
        answer = client.batch_get_item(RequestItems={stack.table: {"Keys": keys, "ConsistentRead": True}})
        yield from map(read_item, answer["Responses"].get(stack.table, ()))
        keys = answer.get("UnprocessedKeys", {}).get(stack.table, {}).get("Keys", [])
        if keys:
            time.sleep(pause)
            pause = min(pause * 2, 5)


def _shard(stack: Stack, shard: str, overdue: bool, limit: int) -> Iterator[tuple[float, str]]:
    """End of lease and id of a shard, in that order, page by page as they are asked for."""
    condition, values = "openShard = :shard", {":shard": {"S": shard}}
    if overdue:
        condition, values = f"{condition} AND leaseExpiresAt < :now", {**values, ":now": {"N": str(int(stack.now()))}}
    pages = stack.client("dynamodb").get_paginator("query")
    for page in pages.paginate(
        TableName=stack.table,
        IndexName=INDEX,
        KeyConditionExpression=condition,
        ExpressionAttributeValues=values,
        PaginationConfig={"PageSize": min(limit, BATCH)},
    ):
        yield from ((float(item["leaseExpiresAt"]["N"]), item["id"]["S"]) for item in page["Items"])


def described(stack: Stack, record: Record) -> dict[str, Any]:
    """An operation as `once ls` lists it."""
    lease = record.get("leaseExpiresAt", 0)
    return {
        "id": record["id"],
        "status": record["status"],
        "lane": stack.lane_of(record["owner"]),
        "attempts": record["attempts"],
        "acquiredAt": record["acquiredAt"],
        "pendingSince": record["pendingSince"] if is_pending(record) else None,
        "leaseExpiresAt": lease,
        "overdue": record["status"] == "IN_PROGRESS" and lease < stack.now(),
        "error": record.get("error"),
        "owner": record["owner"],
        "fence": record["fence"],
    }


def since(now: float, lease: float) -> str:
    """How long a lease has been over; 0 is what operators set, and who releases a lock that it cannot finish."""
    return "it was ended" if lease <= 0 else lasting(now - lease)


def lasting(exactly: float) -> str:
    """A time in the largest unit that it has one of."""
    seconds = int(exactly)
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def age(written: str | None, now: float) -> str:
    """How long ago that was; what is no time is shown as it is."""
    try:
        return since(now, datetime.datetime.fromisoformat(written or "").timestamp())
    except ValueError:
        return short(written or "-")
