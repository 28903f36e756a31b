"""Latches of scripted business logic: objects under `responses/`, which a function may read, and nobody overwrites."""

from __future__ import annotations

from oncekit.stack.stack import Stack


def open_latch(stack: Stack, place: str) -> None:
    """Open a latch, or leave it open."""
    s3 = stack.client("s3")
    try:
        s3.put_object(Bucket=stack.outputs["ResponseBucketName"], Key=f"responses/{place}", Body=b"", IfNoneMatch="*")
    except s3.exceptions.ClientError as error:
        if error.response["Error"]["Code"] != "PreconditionFailed":
            raise
