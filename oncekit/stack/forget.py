"""`once release --forget`: what is kept of a request goes, in the record and in the bucket."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from oncekit.stack import decisions
from oncekit.stack.kept import folder
from oncekit.stack.records import Changed, Missing, Record, find, hash_of
from oncekit.stack.rejected import refused
from oncekit.stack.stack import Stack

LONGEST_EXECUTION = 3 * 86400
"""Seconds, of one in the full lane."""


def shown(stack: Stack, id: str) -> Record | None:
    """The record of an id, None where there is none. Raises Changed when it has an owner that may be alive."""
    try:
        record = find(stack, id)
    except Missing:
        return None
    decisions.may_be_forgotten(stack, record)
    return record


def forget(stack: Stack, id: str, record: Record | None, because: str | None = None) -> dict[str, Any]:
    """{id, status, fence, removed: {requests, responses, rejected}, withoutId}: keys of objects that are deleted.

    `fence` is None where there was no record, `withoutId` counts the refused requests that do not say whose they are.
    Raises Missing when nothing was kept, and Changed when the record is not as it was shown, or when there is none, and
    an execution may be about to take the lock for a request that it has kept: its lock would refer to nothing.
    """
    requests = folder(id)
    if record is None and _has_new(stack, requests):
        raise Changed(
            f"{id}: not forgotten: it has no record, but a request that was kept within the last three days, for which "
            "an execution may be about to take the lock; try again when it has ended, at the latest after three days"
        )
    held = record and decisions.hold(stack, record, because)
    try:
        removed = {
            "requests": [*_delete_below(stack, requests)],
            "responses": [key for days in _days(stack) for key in _delete_below(stack, _answers(days, id))],
        }
    finally:
        fence = held and decisions.let_go(stack, held)
    removed["rejected"], without_id = _delete_refused(stack, id)
    if record is None and not any(removed.values()):
        raise Missing(f"{id}: nothing is kept under this id in the stack {stack.name}; look at how it is written")
    return {
        "id": id,
        "status": "FORGOTTEN",
        "fence": fence,
        "removed": removed,
        "withoutId": without_id,
    }


def _days(stack: Stack) -> list[str]:
    """The folders of answers, one for each RetentionDays under which some were given."""
    pages = stack.client("s3").get_paginator("list_objects_v2")
    asked = {"Bucket": stack.bucket, "Prefix": "responses/", "Delimiter": "/"}
    return [each["Prefix"] for page in pages.paginate(**asked) for each in page.get("CommonPrefixes", ())]


def _answers(days: str, id: str) -> str:
    tenant, operation = id.split("#", 2)[:2]
    return f"{days}{tenant}/{operation}/{hash_of(id)}/"


def _has_new(stack: Stack, prefix: str) -> bool:
    """Whether an object was written below it by an execution that may still run."""
    pages = stack.client("s3").get_paginator("list_objects_v2").paginate(Bucket=stack.bucket, Prefix=prefix)
    written = (each["LastModified"].timestamp() for page in pages for each in page.get("Contents", ()))
    return any(stack.now() - at < LONGEST_EXECUTION for at in written)


def _delete_below(stack: Stack, prefix: str) -> Iterator[str]:
    for key in list(stack.objects(prefix)):
        stack.client("s3").delete_object(Bucket=stack.bucket, Key=key)
        yield key


def _delete_refused(stack: Stack, id: str) -> tuple[list[str], int]:
    """The keys of those that are deleted; how many do not say whose they are."""
    deleted, without_id = list[str](), 0
    for each in refused(stack):
        if each.id == id:
            stack.client("s3").delete_object(Bucket=stack.bucket, Key=each.key)
            deleted.append(each.key)
        without_id += each.id is None
    return deleted, without_id
