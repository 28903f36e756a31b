"""The objects of a bucket, by their keys."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def keys_below(s3: Any, bucket: str, prefix: str) -> Iterator[str]:
    """The keys that begin so, in their order, but for folders that somebody made in the S3 console: empty objects whose
    keys end with a slash (https://docs.aws.amazon.com/AmazonS3/latest/userguide/using-folders.html).
    """
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
    keys = (each["Key"] for page in pages for each in page.get("Contents", ()))
    return (key for key in keys if not key.endswith("/"))
