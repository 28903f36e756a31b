"""The promises of the design as assertions on what a scenario left behind; every scenario ends with them."""

from __future__ import annotations

import hashlib
from typing import Any

from boto3.dynamodb.types import TypeDeserializer

from local import LocalCloud

ALWAYS = {"id", "status", "fingerprint", "owner", "fence", "attempts", "onCrash", "acquiredAt"}
SOMETIMES = {"recoveries", "steps"}
BY_STATUS = {
    "IN_PROGRESS": (ALWAYS | {"leaseExpiresAt", "openShard"}, {"error"}),
    "COMPLETED": (ALWAYS | {"finishedAt", "expiresAt"}, {"result", "resultRef"}),
    "FAILED": (ALWAYS | {"error", "finishedAt", "expiresAt"}, set()),
    "QUARANTINED": (ALWAYS | {"error", "finishedAt", "leaseExpiresAt", "openShard", "requestRef"}, set()),
}


def all_records(cloud: LocalCloud) -> list[dict[str, Any]]:
    pages = cloud.client("dynamodb").get_paginator("scan").paginate(TableName=cloud.resources["IdempotencyTable"])
    decode = TypeDeserializer().deserialize
    return [{k: decode(v) for k, v in item.items()} for page in pages for item in page["Items"]]


def assert_invariants(cloud: LocalCloud) -> None:
    """Section 4 of the design holds for every record, and every stored answer is whole."""
    for record in all_records(cloud):
        assert_record_has_its_shape(record)
        if "resultRef" in record:
            assert_object_is_what_the_reference_says(cloud, record["resultRef"])
        if "requestRef" in record:
            ref = record["requestRef"]
            assert cloud.client("s3").get_object(Bucket=ref["bucket"], Key=ref["key"])["Body"].read()


def assert_record_has_its_shape(record: dict[str, Any]) -> None:
    required, optional = BY_STATUS[record["status"]]
    assert required <= set(record) <= required | optional | SOMETIMES, record
    shard = hashlib.sha256(record["id"].encode()).hexdigest()[0]
    if "openShard" in record:
        assert record["openShard"] == f"{record['status']}#{shard}"
    if record["status"] == "COMPLETED":
        assert ("result" in record) != ("resultRef" in record)
    assert record["fence"] >= record["attempts"] >= 1


def assert_object_is_what_the_reference_says(cloud: LocalCloud, ref: dict[str, Any]) -> None:
    body = cloud.client("s3").get_object(Bucket=ref["bucket"], Key=ref["key"])["Body"].read()
    assert hashlib.sha256(body).hexdigest() == ref["sha256"]
    assert len(body) == ref["bytes"]
