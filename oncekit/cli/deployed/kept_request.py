"""The request of a quarantined operation, kept in S3 for the operator: found, read, and forgotten after the answer.

A function with fenced steps may write any reference into its record. One is followed only to where the state machine
keeps a request of this very id; any other object is neither read nor deleted, and the command says so.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from oncekit.cli.deployed.records import OPERATOR, Record, hash_of
from oncekit.cli.deployed.stack import Stack, is_denied
from oncekit.cli.terminal import short

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
    if "requestRef" in record and not foreign(stack, record):
        return {"Bucket": bucket, "Key": record["requestRef"]["key"]}
    fence = record["fence"] - (OPERATOR in record["owner"] and record["status"] != "QUARANTINED")
    return {"Bucket": bucket, "Key": f"{_folder(record)}{fence}.json"}


def _folder(record: Record) -> str:
    id: str = record["id"]
    return f"requests/{id.partition('#')[0]}/{hash_of(id)}/"


def foreign(stack: Stack, record: Record) -> str | None:
    """What to say of a reference to anything but a kept request of this id; None where there is no such thing."""
    ref = record.get("requestRef")
    if ref is None:
        return None
    own = rf"{re.escape(_folder(record))}[0-9]+\.json"
    is_ours = isinstance(ref, dict) and ref.get("bucket") == stack.outputs["ResponseBucketName"]
    if is_ours and isinstance(ref.get("key"), str) and re.fullmatch(own, ref["key"]):
        return None
    named = short(json.dumps(ref), LONGEST_NAMED)
    return f"the record names {named} as its request, which is none of its own: it was not touched"


def read(stack: Stack, record: Record) -> Kept:
    """The kept request. S3 refuses, in place of saying that nothing is there, whoever may not list the bucket."""
    if why := foreign(stack, record):
        return Kept(None, f"not in the bucket: {why}")
    from botocore.exceptions import ClientError

    client, place = stack.client("s3"), place_of(stack, record)
    try:
        return Kept(client.get_object(**place)["Body"].read().decode())
    except UnicodeDecodeError:
        return Kept(None, f"in the bucket, but not as UTF-8 text ({place['Key']})")
    except client.exceptions.NoSuchKey:
        return Kept(None, f"not in the bucket ({place['Key']})")
    except ClientError as error:
        if not is_denied(error.response["Error"]["Code"]):
            raise
        bucket = f"arn:aws:s3:::{place['Bucket']}"
        return Kept(
            None,
            f"not in the bucket, or you may not see it ({place['Key']}): allow s3:GetObject on {bucket}/requests/*, "
            f"and s3:ListBucket on {bucket}, without which S3 does not tell the two apart",
        )


def forget(stack: Stack, record: Record) -> bool:
    """Delete the kept request, for nothing else does. False when that failed: what was done stands all the same."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        stack.client("s3").delete_object(**place_of(stack, record))
    except (BotoCoreError, ClientError):
        return False
    return True


def put(stack: Stack, record: Record, text: str) -> None:
    """Keep a request, byte for byte, where `read` finds it."""
    content: dict[str, Any] = {"ContentType": "application/json", "Body": text.encode()}
    stack.client("s3").put_object(**place_of(stack, record), **content)
