"""The request of a quarantined operation, kept in S3 for the operator: found, read, and forgotten after the answer."""

from __future__ import annotations

from typing import Any

from cli.problem import Problem
from cli.records import OPERATOR, Record, hash_of
from cli.stack import Stack


def place_of(stack: Stack, record: Record) -> dict[str, str]:
    """Bucket and key. In an operator's hands the record no longer names it: then it is that of the fence before."""
    if "requestRef" in record:
        return {"Bucket": record["requestRef"]["bucket"], "Key": record["requestRef"]["key"]}
    fence = record["fence"] - (OPERATOR in record["owner"])
    id: str = record["id"]
    key = f"requests/{id.partition('#')[0]}/{hash_of(id)}/{fence}.json"
    return {"Bucket": stack.outputs["ResponseBucketName"], "Key": key}


def read(stack: Stack, record: Record) -> str | None:
    """The text of the request, or None when it is not there."""
    client = stack.client("s3")
    try:
        return str(client.get_object(**place_of(stack, record))["Body"].read().decode())
    except client.exceptions.NoSuchKey:
        return None


def demand(stack: Stack, record: Record) -> str:
    """The text of the request. Raises Problem when it is not there."""
    text = read(stack, record)
    if text is None:
        raise Problem(
            f"{record['id']}: its request is not in the bucket ({place_of(stack, record)['Key']}); "
            "`once resolve` it, or send the request again after `once release`"
        )
    return text


def forget(stack: Stack, record: Record) -> bool:
    """Delete the kept request, for nothing else does. False when that failed: what was done stands all the same."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        stack.client("s3").delete_object(**place_of(stack, record))
    except (BotoCoreError, ClientError):
        return False
    return True


def put_back(stack: Stack, record: Record, text: str) -> None:
    content: dict[str, Any] = {"ContentType": "application/json", "Body": text.encode()}
    stack.client("s3").put_object(**place_of(stack, record), **content)
