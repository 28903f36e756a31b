"""Deletes expired objects in S3, by the cloud's clock.

A rule's days count from when the object was written, "rounding up the resulting time to the next day at midnight UTC"
(User Guide, *Lifecycle configuration elements*). AWS may delete it later; here it is deleted at that moment, when its
bucket is used. Expired items stay in their tables: DynamoDB deletes them "within a few days of their expiration time"
(Developer Guide, *Using time to live*), and until then all that reads and writes must see that they are over.
"""

from __future__ import annotations

import datetime
import math
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from oncekit.local.clock import Clock
from oncekit.local.engine.patching import replaced

DAY = 86_400


@contextmanager
def ageing(clock: Clock) -> Iterator[None]:
    """While open, objects expire by the clock, as lifecycle rules say."""
    from moto.s3 import models as s3

    get_bucket = s3.S3Backend.get_bucket
    # Who asks while another thread deletes waits for it: it must not see what has expired.
    deleting = threading.Lock()

    def bucket_now(self: Any, bucket_name: str) -> Any:
        bucket = get_bucket(self, bucket_name)
        with deleting:
            _expire_objects(bucket, clock.now())
        return bucket

    def utcnow() -> datetime.datetime:
        return datetime.datetime.fromtimestamp(clock.now(), datetime.UTC).replace(tzinfo=None)

    with replaced((s3.S3Backend, "get_bucket", bucket_now), (s3, "utcnow", utcnow)):
        yield


def lifecycle_of(properties: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The lifecycle rules of a bucket in a template, in the form of PutBucketLifecycleConfiguration."""
    rules = []
    for number, given in enumerate((properties.get("LifecycleConfiguration") or {}).get("Rules", [])):
        rule = {"ID": given.get("Id", f"rule-{number}"), "Status": given["Status"]}
        rule["Filter"] = {"Prefix": given.get("Prefix", "")}
        if "ExpirationInDays" in given:
            rule["Expiration"] = {"Days": int(given["ExpirationInDays"])}
        rules.append(rule)
    return rules


def expires_at(written: float, days: int) -> float:
    """When an object expires by a rule of this many days; epoch seconds, like `written`."""
    return math.ceil((written + days * DAY) / DAY) * float(DAY)


def _expire_objects(bucket: Any, now: float) -> None:
    rules = [rule for rule in getattr(bucket, "rules", ()) if rule.status == "Enabled" and rule.expiration_days]
    looked = (math.floor(now / DAY), bucket.rules) if rules else None
    if looked is None or getattr(bucket, "looked", None) == looked:
        return
    bucket.looked = looked
    for name, key in list(bucket.keys.items()):
        written = key.last_modified.replace(tzinfo=datetime.UTC).timestamp()
        days = [int(rule.expiration_days) for rule in rules if name.startswith(_prefix_of(rule))]
        if days and expires_at(written, min(days)) <= now:
            bucket.keys.pop(name)


def _prefix_of(rule: Any) -> str:
    in_filter = rule.filter.prefix if rule.filter is not None else None
    return str(rule.prefix or in_filter or "")
