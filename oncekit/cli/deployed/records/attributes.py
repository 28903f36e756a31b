"""What every record of Once has. A function with fenced steps may write anything into its own record.

A command on one record refuses what Once did not write; a list shows that it is there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oncekit.cli.problem import Problem

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


def listable(item: Item) -> Item:
    """A record that can be listed: in place of one that Once did not write, one that says so."""
    if is_ours(item):
        return item
    shard = str(item.get("openShard", {}).get("S", ""))
    blank: dict[str, Mapping[str, Any]] = {
        name: {"S": ""} if kind == "S" else {"N": "0"} for name, kind in TYPES.items()
    }
    error = {"M": {"name": {"S": "OddRecord"}, "message": {"S": ODD}}}
    return {**blank, "id": item["id"], "status": {"S": shard.partition("#")[0]}, "error": error}
