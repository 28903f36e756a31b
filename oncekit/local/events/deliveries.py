"""Events and deliveries as plain values, and what can happen to a delivery."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Invoke = Callable[..., dict[str, Any]]
"""That of boto3's Lambda client; RequestId is the id of an event that is tried again."""


@dataclass(frozen=True)
class Event:
    """An event on a bus."""

    body: Mapping[str, Any]
    """As EventBridge passes it on: version, id, detail-type, source, account, time, region, resources, detail."""
    ingested_at: float


def iso(seconds: float) -> str:
    """An instant as AWS writes it in events."""
    instant = datetime.datetime.fromtimestamp(seconds, datetime.UTC)
    return instant.isoformat(timespec="seconds").replace("+00:00", "Z")


class Refusal(Exception):
    """A target refused a delivery. `code` is EventBridge's."""

    def __init__(self, code: str, message: str, *, again: bool = False) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.again = again
        """Whether a retry can succeed."""


@dataclass(frozen=True)
class Delivery:
    """One attempt to deliver something to one target."""

    kind: str
    """`rule`, `schedule`, `pipe`, `mapping`, `subscription` or `notification`."""
    name: str
    """Of the rule, schedule, pipe, event source mapping or bucket; of a subscription, its ARN."""
    target: str
    """ARN."""
    input: str
    since: float
    """Epoch seconds of the cloud's clock."""
    attempt: int = 0
    """0 for the first, then retries."""


Fate = Callable[[Delivery], Sequence[float]]
"""The fate of an attempt: the delays in seconds after which it arrives, or a ClientError as the target's answer.

Empty is lost for good. Two members are two deliveries, as EventBridge promises at least one, not exactly one.
"""


def at_once(_delivery: Delivery) -> Sequence[float]:
    """It arrives."""
    return (0.0,)
