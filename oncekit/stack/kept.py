"""The request that an open record keeps: its text, or a reference to an object in the stack's bucket.

A function with fenced steps may write any reference into its record. One is followed only to where the state machine
keeps a request of this very id.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from oncekit.console.visible import short
from oncekit.contract.requests import id_in
from oncekit.problem import Problem
from oncekit.stack.aws_errors import is_denied
from oncekit.stack.records import Record, hash_of
from oncekit.stack.stack import Stack

KEPT_DAYS = 180
"""For which the bucket's rule keeps an object after it was written."""


@dataclass(frozen=True)
class Kept:
    """A request as text, and where it is; without one, where it is not."""

    text: str | None
    where: str


def find(stack: Stack, record: Record) -> Kept:
    """The request of a record that holds a lock."""
    if isinstance(record.get("request"), str):
        found = Kept(record["request"], "in the record, for as long as this holds a lock")
    elif "requestRef" in record:
        found = _in_bucket(stack, record)
    else:
        return Kept(None, "not in the record")
    if found.text is not None and (about := id_in(found.text)) != record["id"]:
        return Kept(None, f"not its own, but another request: {short(about or 'none')}")
    return found


def demand(stack: Stack, record: Record) -> str:
    """The request of a record. Raises Problem when it is not where the record says."""
    found = find(stack, record)
    if found.text is None:
        raise Problem(
            f"{record['id']}: its request is {found.where}; "
            "use `once resolve` if it is quarantined or pending and you know how it ended, or `once release`, "
            "and let its sender send it again"
        )
    return found.text


def folder(id: str) -> str:
    """Below which objects keep the large requests of an id. Names of tenants and operations have no `#`; keys may."""
    return f"requests/{'/'.join(id.split('#', 2)[:2])}/{hash_of(id)}/"


def _in_bucket(stack: Stack, record: Record) -> Kept:
    from botocore.exceptions import ClientError

    client, ref = stack.client("s3"), record["requestRef"]
    bucket, id = stack.bucket, record["id"]
    key = f"{folder(id)}{record.get('fingerprint')}.json"
    if ref != {"bucket": bucket, "key": key}:
        return Kept(None, f"not in {short(json.dumps(ref, default=str))}, which the record names, and is not its own")
    try:
        found: dict[str, Any] = client.get_object(Bucket=bucket, Key=key)
    except client.exceptions.NoSuchKey:
        return Kept(None, f"not in the bucket ({key}), which keeps one for {KEPT_DAYS} days")
    except ClientError as error:
        if not is_denied(error.response["Error"]["Code"]):
            raise
        why = "s3:GetObject on requests/* is not allowed, or s3:ListBucket, without which S3 says so of what is gone"
        return Kept(None, f"not in the bucket {bucket}, or you may not see it ({key}): {why}")
    until = found["LastModified"] + timedelta(days=KEPT_DAYS)
    return Kept(found["Body"].read().decode(), f"in the bucket until {until:%Y-%m-%d}: s3://{bucket}/{key}")
