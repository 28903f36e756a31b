"""What `once up --data DIR` keeps over a restart: the items of tables, the objects of buckets, the access key, and the
key to the page.

Executions and messages are not kept. So a record that was in progress has an owner that is gone: the sweep continues it
when its lease is over, as on AWS.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oncekit.cli.here.env import write_private
from oncekit.local.endpoint.access_keys import AccessKey
from oncekit.problem import Problem

if TYPE_CHECKING:
    from oncekit.local.once_cloud import LocalCloud

FILE = "local-cloud.json"
TABLE, BUCKET = "AWS::DynamoDB::Table", "AWS::S3::Bucket"
_BYTES = "bytes"
Kept = dict[str, Any]


def kept_in(folder: Path | None) -> Kept:
    """What is kept in a folder; where there is nothing, new keys. Raises Problem."""
    from oncekit.console.server.guard import new_key

    key = AccessKey()
    keys = {"accessKey": {"id": key.id, "secret": key.secret}, "pageKey": new_key()}
    nothing: Kept = {**keys, "tables": {}, "buckets": {}}
    if folder is None or not os.path.lexists(file := folder / FILE):
        return nothing
    try:
        kept: Kept = json.loads(_own(file), object_hook=_with_bytes)
        assert all(isinstance(each, dict) for each in (kept["accessKey"], kept["tables"], kept["buckets"]))
        assert isinstance(kept["pageKey"], str) and kept["pageKey"], "it has no pageKey"
        AccessKey(**kept["accessKey"])
    except (OSError, ValueError, KeyError, TypeError, AssertionError) as error:
        raise Problem(
            f"{file} is not what `once up --data` writes ({error}): give another folder, or delete it"
        ) from error
    return kept


def _own(file: Path) -> str:
    """The text of a file of the user's own. Raises Problem for one that others may know, as one that came with a
    repository: they would have the access key.
    """
    with os.fdopen(os.open(file, os.O_RDONLY | os.O_NOFOLLOW), encoding="utf-8") as stream:
        found = os.fstat(stream.fileno())
        if found.st_uid != os.getuid() or found.st_mode & 0o077:
            raise Problem(
                f"{file} is another user's, or others may read it and the access key in it: give another folder, "
                "delete it, or, if nobody else has had it, `chmod 600` it"
            )
        return stream.read()


@contextmanager
def keeping(cloud: LocalCloud, folder: Path | None, kept: Kept) -> Iterator[None]:
    """Puts what is kept into the cloud, and at the end writes what is in it then; what has no place stays in the file.

    The file is its user's alone: it has the keys.
    """
    if folder is None:
        yield
        return
    dynamodb, s3 = cloud.client("dynamodb"), cloud.client("s3")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise Problem(f"another `once up` keeps its data in {folder}: give another folder") from error
    _put_back(cloud, kept, folder / FILE)
    try:
        yield
    finally:
        kept["tables"] |= {name: list(_items(dynamodb, table)) for name, table in cloud.named(TABLE).items()}
        kept["buckets"] |= {name: list(_objects(s3, bucket)) for name, bucket in cloud.named(BUCKET).items()}
        write_private(folder / FILE, json.dumps(kept, default=_of_bytes))
        os.close(lock)


def _of_bytes(value: bytes) -> dict[str, str]:
    """A binary value of an item, as JSON can have it."""
    return {_BYTES: base64.b64encode(value).decode()}


def _with_bytes(value: dict[str, Any]) -> Any:
    """An attribute of this name has an object as its value, not a text."""
    text = value.get(_BYTES)
    return base64.b64decode(text, validate=True) if isinstance(text, str) else value


def _put_back(cloud: LocalCloud, kept: Kept, file: Path) -> None:
    from botocore.exceptions import ClientError, ParamValidationError

    dynamodb, s3 = cloud.client("dynamodb"), cloud.client("s3")
    try:
        for name, table in cloud.named(TABLE).items():
            for item in kept["tables"].get(name, ()):
                dynamodb.put_item(TableName=table, Item=item)
        for name, bucket in cloud.named(BUCKET).items():
            for each in kept["buckets"].get(name, ()):
                content = base64.b64decode(each["body"], validate=True)
                s3.put_object(Bucket=bucket, Key=each["key"], ContentType=each["type"], Body=content)
    except (ClientError, ParamValidationError, ValueError) as error:
        raise Problem(f"{file}: what is kept of {name} does not fit any more: {error}") from error


def _items(dynamodb: Any, table: str) -> Iterator[Mapping[str, Any]]:
    for page in dynamodb.get_paginator("scan").paginate(TableName=table):
        yield from page["Items"]


def _objects(s3: Any, bucket: str) -> Iterator[Mapping[str, str]]:
    for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket):
        for each in page.get("Contents", ()):
            found = s3.get_object(Bucket=bucket, Key=each["Key"])
            body = base64.b64encode(found["Body"].read()).decode()
            yield {"key": each["Key"], "type": found["ContentType"], "body": body}
