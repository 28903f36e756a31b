"""Refused requests of a run, among those that the bucket keeps."""

from __future__ import annotations

import datetime

from oncekit.stack.stack import Stack


def rejected_of(stack: Stack, mark: str, since: float) -> dict[str, str]:
    """Key and text of each with `mark` in it, of those that came since then, epoch seconds."""
    bucket, s3 = stack.outputs["ResponseBucketName"], stack.client("s3")
    began = datetime.datetime.fromtimestamp(since, datetime.UTC).strftime("%Y-%m-%dT%H-%M-%S")
    asked = {"Bucket": bucket, "Prefix": "rejected/", "StartAfter": f"rejected/{began}"}
    keys = [
        each["Key"]
        for page in s3.get_paginator("list_objects_v2").paginate(**asked)
        for each in page.get("Contents", ())
    ]
    texts = {key: s3.get_object(Bucket=bucket, Key=key)["Body"].read().decode() for key in keys}
    return {key: text for key, text in texts.items() if mark in text}
