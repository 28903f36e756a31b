"""`once ls --status COMPLETED`: no index lists finished operations; the table is read, and what that costs is told."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from oncekit.cli.deployed.records.attributes import listable
from oncekit.cli.deployed.records.open_operations import described
from oncekit.cli.deployed.records.record import has_expired
from oncekit.cli.deployed.stack import Stack
from oncekit.local.items import plain_item

MOST_READ = 20_000
"""Records that are read, whatever the filters leave of them; 8 KB of them cost one read unit."""
PAGE = 500
SHOWN = (
    "id",
    "status",
    "owner",
    "fence",
    "attempts",
    "recoveries",
    "acquiredAt",
    "leaseExpiresAt",
    "openShard",
    "finishedAt",
    "expiresAt",
    "error",
)


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
        records = [plain_item(listable(item)) for item in page["Items"] if wanted(item["id"]["S"])]
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
        ProjectionExpression=", ".join(f"#{name}" for name in SHOWN),
        ExpressionAttributeNames={f"#{name}": name for name in SHOWN},
        ExpressionAttributeValues=values,
        ReturnConsumedCapacity="TOTAL",
        PaginationConfig={"PageSize": PAGE},
    )
