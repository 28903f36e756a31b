"""The request of an open record: in the record, in the bucket, or the input of its owner's execution.

A function with fenced steps may write any reference into its record. One is followed only to where the state machine
keeps a request of this very id; any other object is neither read nor deleted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from oncekit.cli.deployed.executions.owners import input_of
from oncekit.cli.deployed.records.record import Record, hash_of
from oncekit.cli.deployed.stack import Stack, is_denied
from oncekit.cli.problem import Problem
from oncekit.cli.terminal import short
from oncekit.console.requests import id_in


@dataclass(frozen=True)
class Kept:
    """A request as text; without one, `missing` says where it is not."""

    text: str | None
    missing: str = ""


def find(stack: Stack, record: Record) -> Kept:
    """The request of a record, looked for where it was put last, first."""
    missing = []
    for place, found in _places(stack, record):
        if found.text is None:
            missing.append(found.missing)
        elif (about := id_in(found.text)) == record["id"]:
            return found
        else:
            missing.append(f"not {place}, which has another request: {short(about or 'none')}")
    return Kept(None, "; ".join(missing))


def demand(stack: Stack, record: Record) -> str:
    """The request of a record. Raises Problem when it is nowhere."""
    found = find(stack, record)
    if found.text is None:
        raise Problem(
            f"{record['id']}: its request is {found.missing}; "
            "use `once resolve` if you know how it ended, or `once release`, and let its sender send it again"
        )
    return found.text


def _places(stack: Stack, record: Record) -> Iterator[tuple[str, Kept]]:
    if isinstance(record.get("request"), str):
        yield "in the record", Kept(record["request"])
    if place := _place_of(stack, record):
        yield f"in the bucket ({place['Key']})", _read(stack, place)
    elif "requestRef" in record:
        named = short(json.dumps(record["requestRef"]))
        yield "", Kept(None, f"not in {named}, which the record names, and which is none of its own")
    owner = record["owner"]
    text = input_of(stack, owner)
    why = "it ran in the fast lane, which keeps none" if stack.fast_execution(owner) else "it is gone"
    yield f"with the execution {owner}", Kept(text, f"not with the execution {owner} ({why})")


def _folder(kind: str, id: str) -> str:
    return f"{kind}/{id.partition('#')[0]}/{hash_of(id)}/"


def _place_of(stack: Stack, record: Record) -> dict[str, str] | None:
    """Bucket and key of the object that the record names, if that is a kept request of this id."""
    ref, id, bucket = record.get("requestRef"), record["id"], stack.outputs["ResponseBucketName"]
    own = rf"{re.escape(_folder('requests', id))}[0-9]+\.json|{re.escape(_folder('inflight', id))}[0-9a-f]{{16}}\.json"
    if not isinstance(ref, dict) or ref.get("bucket") != bucket or not re.fullmatch(own, str(ref.get("key"))):
        return None
    return {"Bucket": bucket, "Key": ref["key"]}


def _read(stack: Stack, place: dict[str, str]) -> Kept:
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


def forget(stack: Stack, shown: Record) -> str | None:
    """Delete the object that a record named as its request. Where that fails what was done stands: what to do then."""
    from botocore.exceptions import BotoCoreError, ClientError

    if place := _place_of(stack, shown):
        try:
            stack.client("s3").delete_object(**place)
        except (BotoCoreError, ClientError):
            return "its kept request could not be deleted: allow s3:DeleteObject, and delete {Bucket}/{Key}".format(
                **place
            )
    return None


def keep(stack: Stack, record: Record, owner: str, text: str) -> dict[str, str]:
    """Keep a request, byte for byte, with the lock that an owner is about to get; what the record is to name.

    Recovery reads it there. As any request in flight, it is deleted by the bucket's rule.
    """
    ref = {
        "bucket": stack.outputs["ResponseBucketName"],
        "key": f"{_folder('inflight', record['id'])}{hash_of(owner)[:16]}.json",
    }
    content: dict[str, Any] = {"ContentType": "application/json", "Body": text.encode()}
    stack.client("s3").put_object(Bucket=ref["bucket"], Key=ref["key"], **content)
    return ref
