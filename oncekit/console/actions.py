"""What can be done from the page; the command that serves it does it, as the operators' commands do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol


class Refused(Exception):
    """What was asked for was not done; the message says why."""


class Actions(Protocol):
    """What can be done from the page. Each raises Refused with the reason; those with a text say what they did."""

    def events(self) -> Mapping[str, str]:
        """Requests to start from, by name: those in `events/`."""

    def faults(self) -> Mapping[str, str]:
        """What can go wrong on purpose: a sentence for each name."""

    def start(self, text: str, times: int, lane: str, fault: str = "") -> str:
        """Start a request `times` times; the fault, if one is named, happens once."""

    def stop(self, arn: str) -> None:
        """End an execution as if its owner had died."""

    def ahead(self) -> float | None:
        """Seconds that the clock is ahead of the wall clock; None where it cannot be moved."""

    def advance(self, seconds: float) -> str:
        """Move the clock forward."""

    def refused(self) -> Sequence[Mapping[str, Any]]:
        """The refused requests that are kept, as `once ls --rejected --json` has them, the oldest first."""

    def replay(self, error: str) -> str:
        """Start the refused requests with this error again."""

    def discard(self, error: str, last: str) -> str:
        """Delete the refused requests with this error, up to the one with this key."""

    def retry(self, id: str, because: str | None = None, seen: str | None = None) -> str: ...

    def release(self, id: str, because: str | None = None, seen: str | None = None) -> str: ...

    def answer(self, id: str, result: str | None, failed: str | None, seen: str | None = None) -> str:
        """What `resolve` would store: the text of the result, or why it failed."""

    def resolve(
        self, id: str, result: str | None, failed: str | None, because: str | None = None, seen: str | None = None
    ) -> str: ...
