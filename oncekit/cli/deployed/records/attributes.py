"""What a record's attributes are: a function with fenced steps may have written anything into its own.

A command on one record refuses what it cannot read; a list shows that it is there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oncekit.cli.problem import Problem

Item = Mapping[str, Mapping[str, Any]]
"""As DynamoDB gives it, each value under its type."""

REQUIRED = ("status", "owner", "fence", "attempts", "acquiredAt")
TEXTS = ("fingerprint", "owner", "onCrash", "acquiredAt", "finishedAt", "openShard")
LONGEST = 1024
"""Characters of these texts: no name, hash, time or ARN is longer."""
STATUSES = ("IN_PROGRESS", "QUARANTINED", "COMPLETED", "FAILED")
NUMBERS = ("fence", "attempts", "recoveries")
TIMES = ("leaseExpiresAt", "expiresAt")
REFERENCES = ("requestRef", "resultRef")
OPEN = STATUSES[:2]
"""Statuses of a record that holds a lock: it has a lease, too."""
UNREADABLE = ("B", "SS", "NS", "BS")
"""Types that Once writes nowhere, and that JSON does not have."""
LARGEST = 10**15
"""Whole numbers below it are exact wherever they are looked at."""
LAST_SECOND = 253_402_300_799
"""Of the year 9999, the last that a date can be made of."""


def check(id: str, item: Item) -> None:
    """Raises Problem when the record cannot be what it says."""
    if odd := odd_attributes(item):
        raise Problem(
            f"{id}: its record has attributes in a form that Once does not write: {', '.join(odd)}; a function with "
            "fenced steps, or somebody with access to the table, wrote them; see `aws dynamodb get-item`"
        )


def listable(item: Item) -> Item:
    """A record that can be listed; of one that is odd, that it is, and what its key in the index says."""
    odd = odd_attributes(item)
    if not odd:
        return item
    status = str(item.get("openShard", {}).get("S", "")).partition("#")[0]
    usable: dict[str, Mapping[str, Any]] = {name: value for name, value in item.items() if name not in odd}
    blank: dict[str, Mapping[str, Any]] = {"status": {"S": status}, "owner": {"S": ""}, "acquiredAt": {"S": ""}}
    blank |= {name: {"N": "0"} for name in ("fence", "attempts", "leaseExpiresAt")}
    blank["id"] = item["id"]  # the key: odd or not, there is one
    message = f"attributes in a form that Once does not write: {', '.join(odd)}"
    return {**blank, **usable, "error": {"M": {"name": {"S": "OddRecord"}, "message": {"S": message}}}}


def odd_attributes(item: Item) -> list[str]:
    """Names of attributes that are missing, or of another type or size than Once writes."""
    required = REQUIRED + (("leaseExpiresAt",) if item.get("status", {}).get("S") in OPEN else ())
    missing = [name for name in required if name not in item]
    return sorted({*missing, *(name for name, value in item.items() if not _is_sane(name, value))})


def _is_sane(name: str, value: Mapping[str, Any]) -> bool:
    if name == "id":  # tenant, operation and key
        return str(value.get("S", "")).count("#") >= 2
    if name == "status":
        return value.get("S") in STATUSES
    if name == "result":
        return "S" in value
    if name == "request":  # NULL: the owner's execution has it
        return "S" in value or "NULL" in value
    if name == "mayStartAgain":
        return "BOOL" in value
    if name in TEXTS:
        return "S" in value and len(value["S"]) <= LONGEST
    if name in NUMBERS:
        return _is_whole(value, LARGEST)
    if name in TIMES:
        return _is_whole(value, LAST_SECOND)
    members = value.get("M")
    if name == "error":
        return isinstance(members, Mapping) and all("S" in members.get(each, {}) for each in ("name", "message"))
    if name in REFERENCES:
        return isinstance(members, Mapping) and _is_json(value)
    return _is_json(value) and (name != "steps" or isinstance(members, Mapping))


def _is_json(value: Mapping[str, Any]) -> bool:
    """Whether JSON has it, down to its innermost member; DynamoDB nests no deeper than 32 levels."""
    if any(kind in value for kind in UNREADABLE):
        return False
    return all(_is_json(each) for each in (*value.get("L", ()), *value.get("M", {}).values()))


def _is_whole(value: Mapping[str, Any], largest: int) -> bool:
    number = value.get("N")
    return isinstance(number, str) and number.isascii() and number.isdigit() and int(number) <= largest
