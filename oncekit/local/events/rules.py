"""Rules: deliver events on moto's buses to their targets.

PutRule, PutTargets and PutEvents are moto's, but for a bus that is not there; what a rule does with an event happens
here, on the delivery queue's thread.
"""

from __future__ import annotations

import copy
import uuid
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from oncekit.asl.sizes import text_of
from oncekit.local.account import ACCOUNT, REGION
from oncekit.local.clock import Clock
from oncekit.local.events.attempts import DeadLetter, RetryPolicy, Shipment
from oncekit.local.events.deliveries import Delivery, Event, Refusal, iso
from oncekit.local.events.patterns import NotJudged, check, matches
from oncekit.local.events.targets import is_target, takes_json
from oncekit.local.events.templates import PathError, check_json, check_target, target_input
from oncekit.local.patching import Change

Ship = Callable[[Shipment], None]


class Buses:
    """The buses and rules that were deployed, on moto's."""

    def __init__(self) -> None:
        self._rules: list[tuple[str, str]] = []

    def make(self, buses: Iterable[str], rules: Mapping[str, Mapping[str, Any]]) -> None:
        """These buses and rules, by name, and none of the rules that were deployed before.

        The properties of a rule are CloudFormation's. A bus that it names and nobody made is made: on AWS it is there.
        """
        from moto.events.models import Rule, events_backends

        backend = events_backends[ACCOUNT][REGION]
        for bus, name in self._rules:
            if bus in backend.event_buses:
                backend.event_buses[bus].rules.pop(name, None)
        self._rules.clear()
        named = (str(rule.get("EventBusName", "default")).rpartition("/")[2] for rule in rules.values())
        for bus in [*buses, *named]:
            if bus not in backend.event_buses:
                backend.create_event_bus(bus)
        for name, properties in rules.items():
            template = {"Properties": copy.deepcopy(dict(properties))}
            made = Rule.create_from_cloudformation_json(name, template, ACCOUNT, REGION)
            self._rules.append((made.event_bus_name, made.name))


def put(bus: str, event: Mapping[str, Any]) -> None:
    """Put an event on a bus, by its name, as it is: PutEvents gives each an id, an account and a region anew."""
    from moto.events.models import events_backends

    for rule in list(events_backends[ACCOUNT][REGION].describe_event_bus(bus).rules.values()):
        rule.send_to_targets(copy.deepcopy(dict(event)))


def of_default_bus() -> list[Any]:
    """The rules of the bus on which AWS's services put their events."""
    from moto.events.models import events_backends

    return list(events_backends[ACCOUNT][REGION].event_buses["default"].rules.values())


def changes(clock: Clock, route: Callable[[Any, Event], None]) -> list[Change]:
    """While open, `route` gets every rule of a bus with each event that was put there."""
    from moto.events import models

    def send_to_targets(self: Any, original_event: Mapping[str, Any], transform_input: bool = True) -> None:
        body = dict(original_event)
        ingested = float(body.pop("ingestion-time", clock.now()))
        if not isinstance(body["time"], str):
            body["time"] = iso(body["time"])
        route(self, Event(body, ingested))

    of_moto = models.EventsBackend.put_events

    def put_events(self: Any, events: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """A bus that is not there is no error: AWS takes the event and forgets it."""
        is_there = [self._normalize_event_bus_arn(each.get("EventBusName")) in self.event_buses for each in events]
        answers = iter(of_moto(self, [each for each, is_put in zip(events, is_there, strict=True) if is_put]))
        return [next(answers) if is_put else {"EventId": str(uuid.uuid4())} for is_put in is_there]

    return [
        (models.EventsBackend, "put_events", put_events),
        (models.Rule, "send_to_targets", send_to_targets),
        (models, "unix_time", lambda *_: clock.now()),
    ]


def is_for(rule: Any, event: Event) -> bool:
    """Whether a rule is enabled and matches an event. In moto, a rule without a pattern has a schedule."""
    pattern = rule.event_pattern.get_pattern()
    return bool(pattern) and rule.state != "DISABLED" and matches(pattern, event.body)


def set_off(rule: Any, event: Event, ship: Ship) -> None:
    """Send an event to all targets of a rule that it matches."""
    for target in list(rule.targets):
        ship(shipment(rule.name, rule.arn, target, event))


def shipment(rule: str, arn: str, target: Mapping[str, Any], event: Event) -> Shipment:
    """Of an event to a target of a rule, by its name and ARN."""
    text, refusal = "", None
    try:
        text = target_input(target, event)
        if takes_json(target["Arn"]):
            check_json(text)
    except Refusal as error:
        refusal = error
    delivery = Delivery("rule", rule, target["Arn"], text, event.ingested_at)
    queue = (target.get("DeadLetterConfig") or {}).get("Arn")
    # The event itself, not the input that was made of it.
    letter = DeadLetter(queue, text_of(event.body), {"RULE_ARN": arn}) if queue else None
    return Shipment(delivery, target, RetryPolicy.of(target), letter, refusal)


def is_supported(properties: Mapping[str, Any]) -> bool:
    """Whether the local cloud has all that a rule needs: its targets, pattern, paths and placeholders.

    Raises PatternError for a pattern that AWS refuses.
    """
    has_pattern = isinstance(properties.get("EventPattern"), dict)
    if not has_pattern and "ScheduleExpression" not in properties:
        return False
    try:
        if has_pattern:
            check(properties["EventPattern"])
        for target in properties.get("Targets", []):
            check_target(target)
    except (NotJudged, PathError):
        return False
    return all(is_target(each["Arn"]) for each in properties.get("Targets", []))
