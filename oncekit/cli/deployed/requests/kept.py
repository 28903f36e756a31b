"""The request of a quarantined operation, kept in S3 for the operator: found, read, and forgotten after the answer.

A function with fenced steps may write any reference into its record. One is followed only to where the state machine
keeps a request of this very id; any other object is neither read nor deleted, and the command says so.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from oncekit.cli.deployed.records.record import OPERATOR, Record, hash_of
from oncekit.cli.deployed.stack import Stack, is_denied
from oncekit.cli.terminal import short

REQUESTS, IN_FLIGHT = "requests/", "inflight/"
"""Where requests are kept: for the operator, and with the lock of an owner in the fast lane, or of an operator."""
LONGEST_NAMED = 2000
"""Characters of a reference that a message repeats: every bucket and key of S3 fits."""


@dataclass(frozen=True)
class Kept:
    """The text of a kept request, or why there is none."""

    text: str | None
    missing: str = ""


def place_of(stack: Stack, record: Record) -> dict[str, str]:
    """Bucket and key. In an operator's hands the record no longer names it: then it is that of the fence before."""
    bucket = stack.outputs["ResponseBucketName"]
    if "requestRef" in record and not foreign(stack, record) and not in_flight(stack, record):
        return {"Bucket": bucket, "Key": record["requestRef"]["key"]}
    fence = record["fence"] - (OPERATOR in record["owner"] and record["status"] != "QUARANTINED")
    return {"Bucket": bucket, "Key": f"{_folder(record)}{fence}.json"}


def in_flight(stack: Stack, record: Record) -> dict[str, str] | None:
    """Bucket and key of the request that was kept with the lock, where the record names one."""
    if foreign(stack, record) or not str(record.get("requestRef", {}).get("key", "")).startswith(IN_FLIGHT):
        return None
    return {"Bucket": record["requestRef"]["bucket"], "Key": record["requestRef"]["key"]}


def _folder(record: Record, kind: str = REQUESTS) -> str:
    id: str = record["id"]
    return f"{kind}{id.partition('#')[0]}/{hash_of(id)}/"


def foreign(stack: Stack, record: Record) -> str | None:
    """What to say of a reference to anything but a kept request of this id; None where there is no such thing."""
    ref = record.get("requestRef")
    if ref is None:
        return None
    own = rf"{re.escape(_folder(record))}[0-9]+\.json|{re.escape(_folder(record, IN_FLIGHT))}[0-9a-f]{{16}}\.json"
    is_ours = isinstance(ref, dict) and ref.get("bucket") == stack.outputs["ResponseBucketName"]
    if is_ours and isinstance(ref.get("key"), str) and re.fullmatch(own, ref["key"]):
        return None
    named = short(json.dumps(ref), LONGEST_NAMED)
    return f"the record names {named} as its request, which is none of its own: it was not touched"


def read(stack: Stack, record: Record) -> Kept:
    """The kept request."""
    if why := foreign(stack, record):
        return Kept(None, f"not in the bucket: {why}")
    return read_at(stack, place_of(stack, record))


def read_at(stack: Stack, place: dict[str, str]) -> Kept:
    """An object. S3 refuses, in place of saying that nothing is there, whoever may not list the bucket."""
    from botocore.exceptions import ClientError

    client = stack.client("s3")
    try:
        return Kept(client.get_object(**place)["Body"].read().decode())
    except client.exceptions.NoSuchKey:
        return Kept(None, f"not in the bucket ({place['Key']})")
    except ClientError as error:
        if not is_denied(error.response["Error"]["Code"]):
            raise
        bucket = f"arn:aws:s3:::{place['Bucket']}"
        return Kept(
            None,
            f"not in the bucket, or you may not see it ({place['Key']}): allow s3:GetObject on "
            f"{bucket}/{place['Key'].partition('/')[0]}/*, "
            f"and s3:ListBucket on {bucket}, without which S3 does not tell the two apart",
        )


def forget(stack: Stack, record: Record, shown: Record) -> bool:
    """Delete the kept request of a record, and what its fast owner kept with its lock, as the record was shown.

    False when that failed: what was done stands all the same.
    """
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        for place in (place_of(stack, record), *_of_fast_owner(stack, shown)):
            stack.client("s3").delete_object(**place)
    except (BotoCoreError, ClientError):
        return False
    return True


def _of_fast_owner(stack: Stack, record: Record) -> Iterator[dict[str, str]]:
    """Where its owner in the fast lane has kept a request that is not in the record, which no longer names it when it
    is quarantined."""
    execution = stack.fast_execution(record["owner"])
    if execution is not None and "request" not in record:
        key = f"{_folder(record, IN_FLIGHT)}{hash_of(execution)[:16]}.json"
        yield {"Bucket": stack.outputs["ResponseBucketName"], "Key": key}


def put_in_flight(stack: Stack, record: Record, owner: str, text: str) -> dict[str, str]:
    """Keep a request, byte for byte, with the lock that an owner is about to get; what the record is to name.

    Recovery reads it there. As any request in flight, it is deleted by the bucket's rule.
    """
    ref = {
        "bucket": stack.outputs["ResponseBucketName"],
        "key": f"{_folder(record, IN_FLIGHT)}{hash_of(owner)[:16]}.json",
    }
    content: dict[str, Any] = {"ContentType": "application/json", "Body": text.encode()}
    stack.client("s3").put_object(Bucket=ref["bucket"], Key=ref["key"], **content)
    return ref
