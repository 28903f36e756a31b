"""Schedules: EventBridge Scheduler, and rules with a ScheduleExpression.

A schedule with a rate runs for the first time one period after it was deployed or the local cloud was reset; on AWS it
runs at once, unless there is a StartDate. In virtual time a run happens when time passes its moment; it does not make
time move, which would never stop. Of turns that are quiet, because the target would find nothing to do and nothing else
happens until then, only the last one is taken. FlexibleTimeWindow, StartDate, EndDate and the dead-letter queue of a
schedule are ignored: a run happens at its exact time. A rule sends the event "Scheduled Event" (EventBridge User Guide,
*Events from AWS services*). A schedule without an Input "delivers a default notification" (API reference, Target),
which is such an event, too (unconfirmed, V112); of the keywords in an Input, `<aws.scheduler.scheduled-time>` and
`<aws.scheduler.schedule-arn>` are replaced (Scheduler User Guide, *Adding context attributes*), the others stay.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from oncekit.asl.sizes import text_of
from oncekit.local.account import ACCOUNT, REGION
from oncekit.local.clock import Clock
from oncekit.local.events import rules
from oncekit.local.events.attempts import RetryPolicy, Shipment
from oncekit.local.events.deliveries import Delivery, Event, iso
from oncekit.local.events.delivery_queue import DeliveryQueue
from oncekit.local.events.expressions import period_of, turns_of
from oncekit.local.templates.intrinsics import TemplateError

Ship = Callable[[Shipment], None]
QuietUntil = Callable[[str], float]
"""Until when a target, by its ARN, would find nothing to do, whatever time it is; a time that is over if it may."""


@dataclass(frozen=True)
class Schedule:
    """A schedule as deployed, or one target of a rule."""

    name: str
    arn: str
    """Of the schedule or the rule."""
    expression: str
    zone: str
    target: Mapping[str, Any]
    enabled: bool
    rule: str | None = None
    """Its name."""

    @classmethod
    def of(cls, logical_id: str, name: str, arn: str, properties: Mapping[str, Any]) -> Schedule:
        """Raises TemplateError for what AWS would refuse."""
        zone = str(properties.get("ScheduleExpressionTimezone") or "UTC")
        enabled = properties.get("State", "ENABLED") != "DISABLED"
        expression = _checked(logical_id, str(properties["ScheduleExpression"]), zone)
        return cls(name, arn, expression, zone, properties["Target"], enabled)

    @classmethod
    def of_rule(cls, logical_id: str, name: str, arn: str, properties: Mapping[str, Any]) -> list[Schedule]:
        """One for each target. Raises TemplateError."""
        expression = _checked(logical_id, str(properties["ScheduleExpression"]), "UTC")
        enabled = properties.get("State", "ENABLED") != "DISABLED"
        targets = properties.get("Targets", [])
        return [cls(f"{arn}/{each['Id']}", arn, expression, "UTC", each, enabled, name) for each in targets]

    @property
    def period(self) -> float | None:
        """Seconds between two turns of one with a rate."""
        return period_of(self.expression)

    def after(self, instant: float) -> float | None:
        """Its first turn after an instant, if there is one."""
        return turns_of(self.expression, self.zone)(instant)

    def shipment(self, scheduled: float) -> Shipment:
        """The input of one run."""
        if self.rule is not None:
            return rules.shipment(self.rule, self.arn, self.target, Event(self._event(scheduled), scheduled))
        if "Input" in self.target:
            text = str(self.target["Input"]).replace("<aws.scheduler.scheduled-time>", iso(scheduled))
            text = text.replace("<aws.scheduler.schedule-arn>", self.arn)
        else:
            text = text_of({**self._event(scheduled), "source": "aws.scheduler", "detail": "{}"})
        delivery = Delivery("schedule", self.name, self.target["Arn"], text, scheduled)
        return Shipment(delivery, self.target, RetryPolicy.of(self.target))

    def _event(self, scheduled: float) -> dict[str, Any]:
        return {
            "version": "0",
            "id": str(uuid.uuid4()),
            "detail-type": "Scheduled Event",
            "source": "aws.events",
            "account": ACCOUNT,
            "time": iso(scheduled),
            "region": REGION,
            "resources": [self.arn],
            "detail": {},
        }


def _checked(logical_id: str, expression: str, zone: str) -> str:
    try:
        turns_of(expression, zone)
    except (ValueError, KeyError) as error:  # a zone that nobody knows is a KeyError
        raise TemplateError(f"{logical_id}: AWS would refuse its schedule: {error}") from error
    return expression


class ScheduleRuns:
    """Makes the runs of schedules."""

    def __init__(self, clock: Clock, delivery_queue: DeliveryQueue, ship: Ship, quiet_until: QuietUntil) -> None:
        self._clock = clock
        self._quiet_until = quiet_until
        self._delivery_queue = delivery_queue
        self._ship = ship
        self._running: dict[str, tuple[Schedule, Callable[[], None]]] = {}

    def run(self, schedules: list[Schedule]) -> None:
        """From now on these and no others; an unchanged schedule keeps the times of its runs."""
        for known, cancel in list(self._running.values()):
            if known not in schedules:
                del self._running[known.name]
                cancel()
        for schedule in schedules:
            if schedule.enabled and schedule.name not in self._running:
                self._await(schedule, schedule.after(self._clock.now()))

    def restart(self) -> None:
        """Start all over; call it when the delivery queue has forgotten them."""
        schedules = [schedule for schedule, _cancel in self._running.values()]
        self._running.clear()
        self.run(schedules)

    def _await(self, schedule: Schedule, when: float | None) -> None:
        if when is None:  # it has had its last turn
            self._running.pop(schedule.name, None)
            return
        cancel = self._delivery_queue.at(when, lambda: self._take(schedule, when))
        self._running[schedule.name] = (schedule, cancel)

    def _take(self, schedule: Schedule, when: float) -> None:
        if self._running.get(schedule.name, (None,))[0] == schedule:
            period = schedule.period
            quiet = (self._quiet_until(schedule.target["Arn"]) - when) // period if period else 0
            self._await(schedule, when + max(1, quiet) * period if period else schedule.after(when))
            if quiet < 1:
                self._ship(schedule.shipment(when))
