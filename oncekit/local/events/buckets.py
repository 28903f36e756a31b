"""Notifications of buckets: to functions, queues and topics, and as events on the default bus.

moto knows which notification of a bucket an event is for; what is sent, and when, is decided here. User Guide, *Event
message structure*: version 2.1 for all but replication, lifecycle, tiering and ACL; "The object key name value is URL
encoded"; of an object that is removed there is neither size nor eTag; `sequencer` grows. *EventBridge*: "Object
Created" and "Object Deleted". The test event, which S3 sends to a queue or a topic when it is configured, is not sent.
"""

from __future__ import annotations

import datetime
import itertools
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import quote_plus

from oncekit.asl.sizes import text_of
from oncekit.local.account import ACCOUNT, REGION
from oncekit.local.clock import Clock
from oncekit.local.events.attempts import RetryPolicy, Shipment
from oncekit.local.events.deliveries import Delivery, Event, iso
from oncekit.local.templates.intrinsics import TemplateError

BUCKET = "AWS::S3::Bucket"
_PLACES = {
    "LambdaConfigurations": ("cloud_function", "Function"),
    "QueueConfigurations": ("queue", "Queue"),
    "TopicConfigurations": ("topic", "Topic"),
}
"""By property: moto's attribute, and the name of the target's ARN in an entry."""
_DETAILS = {"ObjectCreated": "Object Created", "ObjectRemoved": "Object Deleted"}
_REASONS = {
    "ObjectCreated:Put": "PutObject",
    "ObjectCreated:Post": "POST Object",
    "ObjectCreated:Copy": "CopyObject",
    "ObjectCreated:CompleteMultipartUpload": "CompleteMultipartUpload",
    "ObjectRemoved:Delete": "DeleteObject",
    "ObjectRemoved:DeleteMarkerCreated": "DeleteObject",
}
_DELETIONS = {
    "ObjectRemoved:Delete": "Permanently Deleted",
    "ObjectRemoved:DeleteMarkerCreated": "Delete Marker Created",
}
Notify = Callable[[Shipment], None]
Put = Callable[[Event], None]


def notifications(properties: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Those in a bucket's properties: moto's attribute for it, the target's ARN, the rest."""
    given = properties.get("NotificationConfiguration") or {}
    for name, (attribute, target) in _PLACES.items():
        for each in given.get(name) or ():
            yield attribute, str(each[target]), each


def check(properties: Mapping[str, Any]) -> None:
    """Raises TemplateError for an event that moto does not know, and anything for what is no notification."""
    for *_, each in notifications(properties):
        from moto.s3.notifications import S3NotificationEvent

        _filter_of(each)
        if not S3NotificationEvent.is_event_valid(str(each["Event"])):
            raise TemplateError(f"the local cloud does not know the event {each['Event']} of its notifications")


class Notifications:
    """What buckets tell, as deployed. `notify` gets what is to be delivered, `put` an event for the default bus."""

    def __init__(self, clock: Clock, notify: Notify, put: Put) -> None:
        self._clock = clock
        self._notify = notify
        self._put = put
        self._made: list[str] = []
        self._numbers = itertools.count(1)

    def make(self, buckets: Mapping[str, Mapping[str, Any]]) -> None:
        """Those of these buckets, by name, and none of those that were deployed before."""
        if not self._made and not any(each.get("NotificationConfiguration") for each in buckets.values()):
            return
        from moto.s3.models import NotificationConfiguration, s3_backends

        there = s3_backends[ACCOUNT]["aws"].buckets
        for name in self._made:
            if name in there:
                there[name].notification_configuration = None
        self._made = [name for name, each in buckets.items() if each.get("NotificationConfiguration")]
        for name in self._made:
            bucket, configuration = there[name], NotificationConfiguration()
            for attribute, target, each in notifications(buckets[name]):
                notification = self._notification(bucket, target, [str(each["Event"])], _filter_of(each))
                getattr(configuration, attribute).append(notification)
            bridge = buckets[name]["NotificationConfiguration"].get("EventBridgeConfiguration")
            if bridge is not None and str(bridge.get("EventBridgeEnabled", True)).lower() == "true":
                created_and_removed = [f"s3:{each}:*" for each in _DETAILS]
                configuration.cloud_function.append(self._notification(bucket, None, created_and_removed, {}))
            bucket.notification_configuration = configuration

    def _notification(self, bucket: Any, target: str | None, events: list[str], filters: Mapping[str, Any]) -> Any:
        from moto.s3.models import Notification

        tell = self._tell

        class Told(Notification):  # type: ignore[misc]  # moto has no types here
            """Tells here what moto would tell by itself."""

            def matches(self, event_name: str, key_name: str) -> bool:
                name = str(getattr(event_name, "value", event_name))
                if super().matches(name, key_name):
                    tell(bucket, target, self.id, name.removeprefix("s3:"), key_name)
                return False

        return Told(target or "events", events, filters)

    def _tell(self, bucket: Any, target: str | None, id: str, event_name: str, key: str) -> None:
        now = self._clock.now()
        about = _object(bucket, event_name, key) | {"sequencer": f"{next(self._numbers):016X}"}
        if target is None:
            self._put(_event(bucket, event_name, about, key, now))
            return
        text = text_of({"Records": [_record(bucket, id, event_name, about, key, now)]})
        delivery = Delivery("notification", bucket.name, target, text, now)
        self._notify(Shipment(delivery, {"Arn": target}, RetryPolicy()))


def _filter_of(given: Mapping[str, Any]) -> Mapping[str, Any]:
    rules = ((given.get("Filter") or {}).get("S3Key") or {}).get("Rules") or ()
    if not rules:
        return {}
    return {"S3Key": {"FilterRule": [{"Name": str(each["Name"]).lower(), "Value": each["Value"]} for each in rules]}}


def _object(bucket: Any, event_name: str, key: str) -> dict[str, Any]:
    """What there is to say of an object beside its key."""
    there = bucket.keys.get(key)
    if event_name.startswith("ObjectRemoved") or there is None:
        return {}
    version = {"versionId": there.version_id} if bucket.is_versioned else {}
    return {"size": there.size, "eTag": there.etag.strip('"'), **version}


def _record(bucket: Any, id: str, event_name: str, about: Mapping[str, Any], key: str, now: float) -> dict[str, Any]:
    time = datetime.datetime.fromtimestamp(now, datetime.UTC).isoformat(timespec="milliseconds")
    return {
        "eventVersion": "2.1",
        "eventSource": "aws:s3",
        "awsRegion": REGION,
        "eventTime": time.replace("+00:00", "Z"),
        "eventName": event_name,
        "userIdentity": {"principalId": "AWS:local"},
        "requestParameters": {"sourceIPAddress": "127.0.0.1"},
        "responseElements": {"x-amz-request-id": str(uuid.uuid4()), "x-amz-id-2": "local"},
        "s3": {
            "s3SchemaVersion": "1.0",
            "configurationId": id,
            "bucket": {
                "name": bucket.name,
                "ownerIdentity": {"principalId": "local"},
                "arn": f"arn:aws:s3:::{bucket.name}",
            },
            "object": {"key": quote_plus(key, safe="/*"), **about},
        },
    }


def _event(bucket: Any, event_name: str, about: Mapping[str, Any], key: str, now: float) -> Event:
    told = {"eTag": "etag", "versionId": "version-id"}
    body = {
        "version": "0",
        "id": str(uuid.uuid4()),
        "detail-type": _DETAILS[event_name.partition(":")[0]],
        "source": "aws.s3",
        "account": ACCOUNT,
        "time": iso(now),
        "region": REGION,
        "resources": [f"arn:aws:s3:::{bucket.name}"],
        "detail": {
            "version": "0",
            "bucket": {"name": bucket.name},
            "object": {"key": key, **{told.get(name, name): value for name, value in about.items()}},
            "request-id": str(uuid.uuid4()),
            "requester": ACCOUNT,
            "source-ip-address": "127.0.0.1",
            "reason": _REASONS[event_name],
            **({"deletion-type": _DELETIONS[event_name]} if event_name in _DELETIONS else {}),
        },
    }
    return Event(body, now)
