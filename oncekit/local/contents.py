"""The contents of tables, buckets and queues: kept when their properties change, counted, deleted on a reset."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oncekit.local.account import ACCOUNT, REGION

_CONTENTS = {
    "AWS::DynamoDB::Table": ("items",),
    "AWS::S3::Bucket": ("keys",),
    "AWS::SQS::Queue": ("_messages", "_pending_messages", "deleted_messages"),
}
"""The attributes of moto's models."""


def take_contents(kind: str, ref: str) -> Mapping[str, Any]:
    """Takes the contents out of a resource, by attribute; afterwards it is empty, and may be deleted."""
    model = _model(kind, ref)
    if kind == "AWS::DynamoDB::Table":
        model.deletion_protection_enabled = False  # nothing is deleted: it is made again, with what it held
    held = {attribute: getattr(model, attribute) for attribute in _CONTENTS.get(kind, ())}
    for attribute, content in held.items():
        setattr(model, attribute, type(content)())
    return held


def put_contents(kind: str, ref: str, held: Mapping[str, Any]) -> None:
    """Put the contents into the resource that replaces the old one."""
    model = _model(kind, ref)
    for attribute, content in held.items():
        setattr(model, attribute, content)


def count_items(table: str) -> int:
    """The number of items in a DynamoDB table."""
    from oncekit.local.engine.dynamodb import DYNAMODB_LOCK

    with DYNAMODB_LOCK:
        return len(_model("AWS::DynamoDB::Table", table))


def empty_everything() -> None:
    """Uses moto's backends directly: through their APIs it would take longer than most tests."""
    from moto.dynamodb.models import dynamodb_backends
    from moto.s3.models import s3_backends
    from moto.sqs.models import sqs_backends

    from oncekit.local.engine.dynamodb import forget_tokens

    forget_tokens()
    holders = {
        "AWS::DynamoDB::Table": dynamodb_backends[ACCOUNT][REGION].tables,
        "AWS::S3::Bucket": s3_backends[ACCOUNT]["aws"].buckets,
        "AWS::SQS::Queue": sqs_backends[ACCOUNT][REGION].queues,
    }
    for kind, models in holders.items():
        for model in models.values():
            for attribute in _CONTENTS[kind]:
                getattr(model, attribute).clear()


def _model(kind: str, ref: str) -> Any:
    if kind == "AWS::DynamoDB::Table":
        from moto.dynamodb.models import dynamodb_backends

        return dynamodb_backends[ACCOUNT][REGION].tables[ref]
    if kind == "AWS::S3::Bucket":
        from moto.s3.models import s3_backends

        return s3_backends[ACCOUNT]["aws"].buckets[ref]
    if kind == "AWS::SQS::Queue":
        from moto.sqs.models import sqs_backends

        return sqs_backends[ACCOUNT][REGION].queues[ref.rpartition("/")[2]]
    return None
