"""The history of an execution: its events in order, in the shape of GetExecutionHistory."""

from __future__ import annotations

import datetime
import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from oncekit.asl.sizes import MAX_EVENTS

_WITHOUT_DETAILS = ("LambdaFunctionStarted", "MapStateSucceeded", "MapStateFailed")


class History:
    """Events, each of which follows another one. `now` gives the time in epoch seconds; `before` is what a redrive goes
    on from.
    """

    def __init__(self, now: Callable[[], float], before: Sequence[dict[str, Any]] = ()) -> None:
        self._events: list[dict[str, Any]] = list(before)
        self._packed: bytes | None = None
        self._now = now
        self.last = len(self._events)
        """The event that the next one follows."""

    @property
    def events(self) -> list[dict[str, Any]]:
        """The oldest first."""
        events, packed = self._events, self._packed  # in this order: another thread may pack them
        return events if packed is None else json.loads(zlib.decompress(packed))

    def pack(self) -> None:
        """Take a tenth of the room from now on: nothing is added any more, and it is seldom read."""
        if self._packed is None:
            self._packed = zlib.compress(json.dumps(self._events).encode(), 1)
            self._events = []

    @property
    def is_full(self) -> bool:
        """Whether a Standard execution has no event left but its last one."""
        return len(self.events) >= MAX_EVENTS - 1

    def add(self, kind: str, details: Mapping[str, Any], *, after: int | None = None, is_followed: bool = True) -> int:
        """Add an event, after the one before it or after another; its number. What is not followed has no successor."""
        number = len(self._events) + 1
        event = {
            "timestamp": iso(self._now()),
            "type": kind,
            "id": number,
            "previousEventId": self.last if after is None else after,
        }
        if kind not in _WITHOUT_DETAILS:
            event[details_name(kind)] = dict(details)
        self._events.append(event)
        if is_followed:
            self.last = number
        return number


def details_name(kind: str) -> str:
    """The member of an event that has its details."""
    for end in ("StateEntered", "StateExited"):
        kind = end if kind.endswith(end) else kind
    return f"{kind[:1].lower()}{kind[1:]}EventDetails"


def iso(seconds: float) -> str:
    """An instant as AWS writes it: UTC, milliseconds."""
    return (
        datetime.datetime.fromtimestamp(seconds, datetime.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    )
