"""What can be done from the page; the command that serves it does it, as the operators' commands do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from oncekit.console.rows import Message


class Refused(Exception):
    """What was asked for was not done; the message says why."""


@dataclass(frozen=True)
class Prospect:
    """What would become of a refused request that is started again, as far as that can be known before."""

    is_stuck: bool
    """Whether it surely gets no further."""
    why: str


class Actions(Protocol):
    """What can be done from the page. Each says what it did, or raises Refused with the reason."""

    def start(self, text: str, times: int, lane: str, fault: str = "") -> str:
        """Start a request `times` times; the fault, if one is named, happens in the first execution."""

    def faults(self) -> Mapping[str, str]:
        """What can go wrong on purpose: a sentence for each name."""

    def stop(self, arn: str) -> str:
        """End an execution as if its owner had died."""

    def ahead(self) -> float | None:
        """Seconds that the clock is ahead of the wall clock; None where it cannot be moved."""

    def advance(self, seconds: float) -> str:
        """Move the clock forward."""

    def replay(self, error: str) -> str:
        """Start the refused requests with this error again."""

    def discard(self, error: str) -> str:
        """Delete the refused requests with this error."""

    def prospect(self, message: Message) -> Prospect:
        """What would become of a refused request that is started again."""

    def retry(self, id: str) -> str: ...

    def release(self, id: str) -> str: ...

    def resolve(self, id: str, result: str | None, failed: str | None) -> str: ...

    def events(self) -> Mapping[str, str]:
        """Requests to start from, by name: those in `events/`."""
