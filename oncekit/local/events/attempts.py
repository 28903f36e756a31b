"""Attempts: retries a delivery by its retry policy, and puts it into a dead-letter queue in the end.

The waits between attempts double, from one second to ten minutes. AWS adds jitter; here there is none, so that a run
can be repeated exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from oncekit.local.clock import Clock
from oncekit.local.events.deliveries import Delivery, Fate, Refusal, at_once
from oncekit.local.events.delivery_queue import DeliveryQueue
from oncekit.local.events.targets import Targets, refusal_of
from oncekit.local.permissions import ANYTHING, Caller

LONGEST_PAUSE_SECONDS = 600.0


@dataclass(frozen=True)
class RetryPolicy:
    """How long a delivery is tried; the defaults are those of EventBridge and of its Scheduler."""

    attempts: int = 185
    """Retries after the first attempt."""
    age: float = 86_400.0
    """Seconds since the event after which it is not tried again."""

    @classmethod
    def of(cls, target: Mapping[str, Any]) -> RetryPolicy:
        given = target.get("RetryPolicy") or {}
        return cls(
            int(given.get("MaximumRetryAttempts", cls.attempts)),
            float(given.get("MaximumEventAgeInSeconds", cls.age)),
        )

    def exhausted(self, retries: int, age: float) -> str | None:
        """The condition that forbids one more attempt at that age, None when there may be one."""
        if retries >= self.attempts:
            return "MaximumRetryAttempts"
        return "MaximumEventAgeInSeconds" if age > self.age else None


@dataclass(frozen=True)
class DeadLetter:
    """The dead letter of a rule; what puts it there is the queue's policy, since a rule has no role for that."""

    queue: str
    """ARN."""
    body: str
    attributes: Mapping[str, str]
    """Without those that all have."""


@dataclass(frozen=True)
class Shipment:
    """A delivery to one target, from the first attempt to the last."""

    delivery: Delivery
    target: Mapping[str, Any]
    policy: RetryPolicy
    dead_letter: DeadLetter | None = None
    refusal: Refusal | None = None
    """Why there is nothing to send: the input could not be made."""
    delivered: Callable[[], None] = lambda: None
    """Called when the target has it."""


class Attempts:
    """Makes deliveries."""

    def __init__(self, clock: Clock, delivery_queue: DeliveryQueue, targets: Targets) -> None:
        self._clock = clock
        self._delivery_queue = delivery_queue
        self._targets = targets
        self.fates: list[Fate] = []

    def ship(self, shipment: Shipment) -> None:
        """Deliver now; call it on the delivery queue's thread."""
        if shipment.refusal:
            self._refused(shipment, shipment.refusal)
            return
        try:
            delays = self.arrivals(shipment.delivery)
        except Refusal as refusal:
            self._refused(shipment, refusal)
            return
        for delay in delays:
            if delay > 0:
                self._delivery_queue.later(delay, lambda: self._send(shipment))
            else:
                self._send(shipment)

    def arrivals(self, delivery: Delivery) -> list[float]:
        """After how many seconds it arrives, each time that it does. Raises Refusal."""
        try:
            fate = self.fates[-1] if self.fates else at_once
            return list(fate(delivery))
        except (Refusal, ClientError, BotoCoreError, OSError) as error:
            raise refusal_of(error) from error

    def _send(self, shipment: Shipment) -> None:
        try:
            self._targets.send(shipment.target, shipment.delivery.input, shipment.delivery.name)
        except Refusal as refusal:
            self._refused(shipment, refusal)
        else:
            shipment.delivered()

    def _refused(self, shipment: Shipment, refusal: Refusal) -> None:
        delivery, letter = shipment.delivery, shipment.dead_letter
        pause = min(2.0**delivery.attempt, LONGEST_PAUSE_SECONDS)
        condition = shipment.policy.exhausted(delivery.attempt, self._clock.now() + pause - delivery.since)
        if refusal.again and condition is None:
            again = replace(shipment, delivery=replace(delivery, attempt=delivery.attempt + 1))
            self._delivery_queue.later(pause, lambda: self.ship(again))
        elif letter is not None:
            attributes = {
                **letter.attributes,
                "TARGET_ARN": str(shipment.target["Arn"]),
                "ERROR_CODE": refusal.code,
                "ERROR_MESSAGE": refusal.message or refusal.code,
                "RETRY_ATTEMPTS": str(delivery.attempt),
            }
            if refusal.again and condition is not None:
                attributes["EXHAUSTED_RETRY_CONDITION"] = condition
            with suppress(ClientError):  # a dead-letter queue that cannot be reached loses what it gets, on AWS, too
                self._targets.put(letter.queue, letter.body, Caller(ANYTHING, delivery.name), attributes)
