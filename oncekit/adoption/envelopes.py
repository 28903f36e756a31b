"""What AWS puts around what was sent, as far as template and example say: no path leads into it, or it is no key."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from oncekit.adoption.application_template import ApplicationTemplate
from oncekit.adoption.operation import Wanted
from oncekit.adoption.trigger import FromQueue, FromRule

OF_SNS = {"Type", "TopicArn", "MessageId", "Message"}
OF_EVENTBRIDGE = {"id", "source", "detail-type", "detail"}
"""Members of what comes to a queue from there. https://docs.aws.amazon.com/sns/latest/dg/http-notification-json.html"""
WRAPPED = """{queue} gets what is published in an envelope of SNS, whose Message is a text that neither --key nor \
--payload leads into: {how}, and name what is in the message itself"""
ANOTHER_REQUEST = """where its sender tries again, that is another request. Name what identifies the work, such as the \
number of an order"""
MADE_ANEW = f"--key {{key}} is an id that {{service}} makes anew for each {{what}}: {ANOTHER_REQUEST}"


def told_of_envelopes(template: ApplicationTemplate, wanted: Wanted) -> Iterator[str]:
    """What is wrong with key and payload."""
    trigger, example = wanted.trigger, wanted.example
    members = example.keys() if isinstance(example, dict) else set()
    match trigger:
        case FromRule(key="$.id"):
            yield MADE_ANEW.format(key=trigger.key, service="EventBridge", what="event")
        case FromQueue(given=queue, key=key):
            ways = list(_ways_to_raw(template, queue))
            is_wrapped = ways or members >= OF_SNS
            if is_wrapped:
                how = " and ".join(ways) or "set RawMessageDelivery: true of the subscription"
                yield WRAPPED.format(queue=queue, how=how)
            if key == "$.body.MessageId" and (is_wrapped or example is None):
                yield MADE_ANEW.format(key=key, service="SNS", what="message")
            if key == "$.body.id" and members >= OF_EVENTBRIDGE:
                yield MADE_ANEW.format(key=key, service="EventBridge", what="event")


def _ways_to_raw(template: ApplicationTemplate, queue: str) -> Iterator[str]:
    """What to do for each subscription that brings envelopes to a queue.

    Only a subscription that is a resource can be without:
    https://docs.aws.amazon.com/sns/latest/dg/sns-large-payload-raw-message-delivery.html
    """
    address: Any = {"Fn::GetAtt": [queue, "Arn"]}
    for name, resource in template.resources.items():
        properties = resource.get("Properties") or {}
        is_raw = str(properties.get("RawMessageDelivery", False)).lower() != "false"
        if resource.get("Type") == "AWS::SNS::Subscription" and properties.get("Endpoint") == address and not is_raw:
            yield f"set RawMessageDelivery: true of {name}"
        of_topic = properties.get("Subscription") if resource.get("Type") == "AWS::SNS::Topic" else None
        of_events = ((each.get("Properties") or {}).get("SqsSubscription") for each in events_in(properties))
        for each in (*(of_topic or ()), *of_events):
            if isinstance(each, dict) and address in (each.get("Endpoint"), each.get("QueueArn")):
                yield f"subscribe it by an AWS::SNS::Subscription with RawMessageDelivery: true, in place of {name}'s"


def events_in(properties: Any) -> Iterator[dict[str, Any]]:
    """Those of a function of SAM."""
    events = properties.get("Events")
    yield from (each for each in (events.values() if isinstance(events, dict) else ()) if isinstance(each, dict))
