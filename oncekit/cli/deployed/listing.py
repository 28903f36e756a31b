"""`once ls`: open operations through the sparse index, without reading more than is shown.

No index lists finished ones: for these the table is read, and what that costs is told.
"""

from __future__ import annotations

import datetime
import heapq
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

from oncekit.cli.deployed.records import Record, has_expired, ours
from oncekit.cli.deployed.stack import Stack
from oncekit.cli.terminal import short

INDEX = "open-operations"
MOST_READ = 20_000
"""Records of the table that are read for finished operations; 8 KB of them cost one read unit."""
PAGE = 500
LONGEST_ID = 400
"""Characters that are printed: no id of a request has more."""
BATCH = 100
"""Keys that one BatchGetItem takes."""


def open_operations(
    stack: Stack,
    statuses: Sequence[str],
    overdue: bool,
    wanted: Callable[[str], bool],
    limit: int,
) -> dict[str, Any]:
    """{operations, isComplete}: at most `limit`; complete when there are no more.

    `wanted` judges an id, before its record is read.
    """
    keys = heapq.merge(
        *(_shard(stack, f"{status}#{x}", overdue, limit) for status in statuses for x in "0123456789abcdef")
    )
    ids = (id for _, id in keys if wanted(id))
    found: dict[str, dict[str, Any]] = {}
    while len(found) < limit and (batch := list(islice(ids, min(BATCH, limit - len(found))))):
        # An id is twice in the index while its record goes from one status to another.
        for record in read_all(stack, [id for id in dict.fromkeys(batch) if id not in found]):
            operation = described(stack, record)
            is_due = operation["overdue"] or not overdue
            if record["status"] in statuses and is_due:  # the index lags behind
                found[record["id"]] = operation
    ordered = sorted(found.values(), key=lambda each: (each["leaseExpiresAt"], each["id"]))
    return {"operations": ordered, "isComplete": next(ids, None) is None}


def read_all(stack: Stack, ids: Sequence[str]) -> Iterator[Record]:
    """The records of at most 100 ids, consistently; keys that DynamoDB leaves over are asked for again."""
    client = stack.client("dynamodb")
    keys = [{"id": {"S": id}} for id in ids]
    pause = 0.05
    while keys:
        answer = client.batch_get_item(RequestItems={stack.table: {"Keys": keys, "ConsistentRead": True}})
        yield from ours(answer["Responses"].get(stack.table, ()))
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


def finished_operations(
    stack: Stack,
    statuses: Sequence[str],
    wanted: Callable[[str], bool],
    limit: int,
) -> dict[str, Any]:
    """{operations, isComplete, read: {records, units}}: at most `limit`, the last finished first among those found.

    Answers that have expired are left out. Complete when the whole table was read.
    """
    found: list[dict[str, Any]] = []
    read = {"records": 0, "units": 0.0}
    is_complete = True
    for page in _pages(stack, statuses):
        read["records"] += page["ScannedCount"]
        read["units"] += page.get("ConsumedCapacity", {}).get("CapacityUnits", 0.0)
        records = ours(item for item in page["Items"] if wanted(item["id"]["S"]))
        found += (described(stack, each) for each in records if not has_expired(stack, each))
        if "LastEvaluatedKey" in page and (len(found) >= limit or read["records"] >= MOST_READ):
            is_complete = False
            break
    found.sort(key=lambda each: str(each["finishedAt"] or ""), reverse=True)
    return {"operations": found[:limit], "isComplete": is_complete and len(found) <= limit, "read": read}


def _pages(stack: Stack, statuses: Sequence[str]) -> Iterator[dict[str, Any]]:
    values = {f":{number}": {"S": status} for number, status in enumerate(statuses)}
    pages = stack.client("dynamodb").get_paginator("scan")
    yield from pages.paginate(
        TableName=stack.table,
        FilterExpression=f"#status IN ({', '.join(values)})",
        ExpressionAttributeNames={"#status": "status"},
        ExpressionAttributeValues=values,
        ReturnConsumedCapacity="TOTAL",
        PaginationConfig={"PageSize": PAGE},
    )


def described(stack: Stack, record: Record) -> dict[str, Any]:
    """An operation as `once ls` lists it."""
    lease = record.get("leaseExpiresAt", 0)
    return {
        "id": record["id"],
        "status": record["status"],
        "lane": stack.lane_of(record["owner"]),
        "attempts": record["attempts"],
        "acquiredAt": record["acquiredAt"],
        "finishedAt": record.get("finishedAt"),
        "leaseExpiresAt": lease,
        "overdue": record["status"] == "IN_PROGRESS" and lease < stack.now(),
        "error": record.get("error"),
        "owner": record["owner"],
        "fence": record["fence"],
    }


def since(now: float, lease: float) -> str:
    """How long a lease has been over; 0 is what operators set, and the fast lane when it releases one."""
    if lease <= 0:
        return "it was ended"
    seconds = int(now - lease)
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
