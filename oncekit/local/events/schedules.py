"""Schedules: EventBridge Scheduler, with `rate(...)` only.

A schedule runs for the first time one period after it was deployed or the local cloud was reset; on AWS it runs at
once, unless there is a StartDate. In virtual time a run happens when time passes its moment; it does not make time
move, which would never stop. Of turns that are quiet, because the target would find nothing to do and nothing else
happens until then, only the last one is taken. FlexibleTimeWindow, placeholders in the Input and a dead-letter queue
are ignored: a run happens at its exact time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from oncekit.local.clock import Clock
from oncekit.local.events.attempts import RetryPolicy, Shipment
from oncekit.local.events.deliveries import Delivery
from oncekit.local.events.delivery_queue import DeliveryQueue
from oncekit.local.intrinsics import TemplateError

_RATE = re.compile(r"rate\(\s*([1-9]\d*)\s+(minute|hour|day)s?\s*\)")
_SECONDS = {"minute": 60, "hour": 3600, "day": 86_400}

Ship = Callable[[Shipment], None]
QuietUntil = Callable[[str], float]
"""Until when a target, by its ARN, would find nothing to do, whatever time it is; a time that is over if it may."""


@dataclass(frozen=True)
class Schedule:
    """A schedule as deployed."""

    name: str
    period: float
    """Seconds."""
    target: Mapping[str, Any]
    enabled: bool

    @classmethod
    def of(cls, logical_id: str, name: str, properties: Mapping[str, Any]) -> Schedule:
        """Raises TemplateError for what AWS would refuse, or the local cloud does not support."""
        target = properties["Target"]
        period = period_of(logical_id, str(properties["ScheduleExpression"]))
        return cls(name, period, target, properties.get("State", "ENABLED") != "DISABLED")

    def shipment(self, scheduled: float) -> Shipment:
        """The input of one run."""
        text = str(self.target.get("Input", "{}"))
        delivery = Delivery("schedule", self.name, self.target["Arn"], text, scheduled)
        return Shipment(delivery, self.target, RetryPolicy.of(self.target))


def period_of(logical_id: str, expression: str) -> float:
    """Seconds between two runs. Raises TemplateError."""
    rate = _RATE.fullmatch(expression)
    if rate is None:
        raise TemplateError(f"{logical_id}: the local cloud supports schedules like rate(5 minutes), not {expression}")
    return float(int(rate[1]) * _SECONDS[rate[2]])


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
                self._await(schedule, self._clock.now() + schedule.period)

    def restart(self) -> None:
        """Start all over; call it when the delivery queue has forgotten them."""
        schedules = [schedule for schedule, _cancel in self._running.values()]
        self._running.clear()
        self.run(schedules)

    def _await(self, schedule: Schedule, when: float) -> None:
        cancel = self._delivery_queue.at(when, lambda: self._take(schedule, when))
        self._running[schedule.name] = (schedule, cancel)

    def _take(self, schedule: Schedule, when: float) -> None:
        if self._running.get(schedule.name, (None,))[0] == schedule:
            quiet = (self._quiet_until(schedule.target["Arn"]) - when) // schedule.period
            self._await(schedule, when + max(1, quiet) * schedule.period)
            if quiet < 1:
                self._ship(schedule.shipment(when))
