"""What every record of Once has. A function with fenced steps may write anything into its own record.

A command on one record refuses what Once did not write; a list says that it is there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from oncekit.cli.problem import Problem
from oncekit.cli.terminal import tell
from oncekit.local.items import plain_item

Item = Mapping[str, Mapping[str, Any]]
"""As DynamoDB gives it, each value under its type."""

STATUSES = ("IN_PROGRESS", "QUARANTINED", "COMPLETED", "FAILED")
OPEN = STATUSES[:2]
"""Statuses of a record that holds a lock: it has a lease, too."""
TYPES = {"status": "S", "owner": "S", "fence": "N", "attempts": "N", "acquiredAt": "S", "leaseExpiresAt": "N"}
ODD = "its record is not in the form that Once writes"


def check(id: str, item: Item) -> None:
    """Raises Problem for a record that Once did not write."""
    if not is_ours(item):
        raise Problem(
            f"{id}: {ODD}: a function with fenced steps, or somebody with access to the table, wrote it; "
            "see `aws dynamodb get-item`"
        )


def is_ours(item: Item) -> bool:
    """Whether a record has an id, and what every record has, in the types that Once writes."""
    status = item.get("status", {}).get("S")
    needed = [name for name in TYPES if name != "leaseExpiresAt" or status in OPEN]
    has_all = all(TYPES[name] in item.get(name, {}) for name in needed)
    return has_all and status in STATUSES and item["id"]["S"].count("#") >= 2


def ours(items: Iterable[Item]) -> Iterator[dict[str, Any]]:
    """Those that Once wrote; any other is named on standard error."""
    for item in items:
        if is_ours(item):
            yield plain_item(item)
        else:
            tell(f"{item['id']['S']}: {ODD}")
