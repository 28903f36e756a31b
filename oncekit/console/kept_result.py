"""A result that its record refers to: read when somebody asks for it, and held against its hash."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from oncekit.console.rows import Unknown

MOST_BYTES = 5_000_000
"""That are shown; larger ones are for `aws s3 cp`."""


def kept_result(record: Mapping[str, Any] | None, s3: Any) -> str:
    """Its text. Raises Unknown, saying why."""
    from botocore.exceptions import BotoCoreError, ClientError

    ref = (record or {}).get("resultRef")
    if not isinstance(ref, Mapping) or not isinstance(ref.get("bytes"), int):
        raise Unknown("the record refers to no result")
    where = f"s3://{ref.get('bucket')}/{ref.get('key')}"
    if ref["bytes"] > MOST_BYTES:
        raise Unknown(f"{ref['bytes']:,} bytes are too many to be shown: they are in {where}")
    try:
        body: bytes = s3.get_object(Bucket=ref.get("bucket"), Key=ref.get("key"))["Body"].read()
    except (BotoCoreError, ClientError) as error:
        raise Unknown(f"{where} cannot be read: {error}") from error
    if hashlib.sha256(body).hexdigest() != ref.get("sha256"):
        raise Unknown(f"{where} is not what the record says: its SHA-256 is another one")
    return body.decode("utf-8", "replace")
