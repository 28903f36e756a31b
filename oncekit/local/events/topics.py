"""Subscriptions of topics: to queues as moto has them, and to functions.

A function gets `{"Records": [...]}` with one record of the message, asynchronously (Lambda Developer Guide, *Invoking
Lambda functions with Amazon SNS notifications*, whose example says `SigningCertURL`; that events have `SigningCertUrl`
and `UnsubscribeUrl`, as libraries read them, is unconfirmed, V112). Whether a filter policy takes a message is moto's
to judge, for queues and functions alike. Mail, text messages and calls of other servers are not sent.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from oncekit.asl.sizes import text_of
from oncekit.local.account import ACCOUNT, REGION
from oncekit.local.clock import Clock
from oncekit.local.deployment.resources import Deployed
from oncekit.local.events.attempts import RetryPolicy, Shipment
from oncekit.local.events.deliveries import Delivery

TOPIC = "AWS::SNS::Topic"
SUBSCRIPTION = "AWS::SNS::Subscription"
_PEOPLE = ("email", "email-json", "sms")
"""Protocols by which a person is told, whom nobody expects to be told here."""
Publish = Callable[[Shipment], None]


@dataclass(frozen=True)
class Subscription:
    """A subscription as deployed."""

    topic: str
    """ARN."""
    protocol: str
    endpoint: str
    attributes: tuple[tuple[str, str], ...] = ()
    """As SetSubscriptionAttributes takes them, the scope of the filter before the filter."""


def subscriptions(resources: Mapping[str, Deployed]) -> Iterator[tuple[str, Subscription]]:
    """Those of the topics that are here, also those in a topic itself, with their logical ids."""
    topics = {each.ref for each in resources.values() if each.type == TOPIC and each.ref}
    for logical_id, each in resources.items():
        if not each.ref:
            continue
        if each.type == TOPIC:
            for given in each.properties.get("Subscription") or ():
                yield logical_id, Subscription(each.ref, str(given["Protocol"]), str(given["Endpoint"]))
        if each.type == SUBSCRIPTION and str(each.properties.get("TopicArn")) in topics:
            yield logical_id, subscription_of(each.properties)


def subscription_of(properties: Mapping[str, Any]) -> Subscription:
    """A subscription that is a resource of its own."""
    told = {
        "FilterPolicyScope": properties.get("FilterPolicyScope"),
        "FilterPolicy": json.dumps(properties["FilterPolicy"]) if properties.get("FilterPolicy") else None,
        # moto takes any text for yes
        "RawMessageDelivery": "true" if str(properties.get("RawMessageDelivery")).lower() == "true" else None,
    }
    attributes = tuple((name, str(value)) for name, value in told.items() if value is not None)
    endpoint = str(properties.get("Endpoint", ""))
    return Subscription(str(properties["TopicArn"]), str(properties["Protocol"]), endpoint, attributes)


def why_not(each: Subscription, is_here: Callable[[str], bool]) -> str | None:
    """Why a subscription is in name only; None for one that is delivered, or that tells a person."""
    if each.protocol == "lambda" and not is_here(each.endpoint):
        return f"the function {each.endpoint} does not run here"
    if each.protocol == "sqs" and each.endpoint.split(":")[2:3] != ["sqs"]:
        return f"its endpoint {each.endpoint} is no queue's ARN"
    return None if each.protocol in ("lambda", "sqs", *_PEOPLE) else f"{each.protocol} is not delivered here"


class Subscriptions:
    """Those that were deployed, on moto's topics. `publish` gets what is to be delivered to a function."""

    def __init__(self, clock: Clock, publish: Publish) -> None:
        self._clock = clock
        self._publish = publish
        self._made: list[str] = []
        """ARNs."""

    def make(self, wanted: list[Subscription]) -> None:
        """These, and none of those that were deployed before."""
        if not wanted and not self._made:
            return  # moto's topics take their time to import
        from moto.sns.models import sns_backends

        backend = sns_backends[ACCOUNT][REGION]
        for arn in self._made:
            backend.subscriptions.pop(arn, None)
        self._made.clear()
        for each in wanted:
            if each.protocol == "sqs":
                made = backend.subscribe(each.topic, each.endpoint, each.protocol)
            elif each.protocol != "lambda":
                continue
            else:
                made = _to_function(backend.get_topic(each.topic), each.endpoint, self._publish, self._clock)
                backend.subscriptions[made.arn] = made
            self._made.append(made.arn)
            for name, value in each.attributes:
                backend.set_subscription_attributes(made.arn, name, value)


def _to_function(topic: Any, endpoint: str, publish: Publish, clock: Clock) -> Any:
    from moto.sns.models import Subscription as Moto

    class ToFunction(Moto):  # type: ignore[misc]  # moto has no types here
        """In moto's own, a function is one of moto's."""

        def publish(self, message: str, message_id: str, **more: Any) -> None:
            attributes = more.get("message_attributes") or {}
            matcher = self._filter_policy_matcher
            if matcher is not None and not matcher.matches(attributes, message):
                return
            if more.get("message_structure") == "json":
                message = self._parse_message_structure(message, self.protocol)
            told = record(self.arn, self.topic.arn, message, message_id, more.get("subject"), attributes, clock.now())
            text = text_of({"Records": [told]})
            delivery = Delivery("subscription", self.arn, self.endpoint, text, clock.now())
            publish(Shipment(delivery, {"Arn": self.endpoint}, RetryPolicy()))

    return ToFunction(ACCOUNT, topic, endpoint, "lambda")


def record(
    subscription: str,
    topic: str,
    message: str,
    message_id: str,
    subject: str | None,
    attributes: Mapping[str, Any],
    now: float,
) -> dict[str, Any]:
    """A message as a function gets it; nobody has signed it here."""
    time = datetime.datetime.fromtimestamp(now, datetime.UTC).isoformat(timespec="milliseconds")
    return {
        "EventSource": "aws:sns",
        "EventVersion": "1.0",
        "EventSubscriptionArn": subscription,
        "Sns": {
            "Type": "Notification",
            "MessageId": message_id,
            "TopicArn": topic,
            "Subject": subject,
            "Message": message,
            "Timestamp": time.replace("+00:00", "Z"),
            "SignatureVersion": "1",
            "Signature": "local",
            "SigningCertUrl": "https://sns.us-east-1.amazonaws.com/local.pem",
            "UnsubscribeUrl": f"https://sns.us-east-1.amazonaws.com/?Action=Unsubscribe&SubscriptionArn={subscription}",
            "MessageAttributes": {
                name: {"Type": each["Type"], "Value": str(each["Value"])} for name, each in attributes.items()
            },
        },
    }
