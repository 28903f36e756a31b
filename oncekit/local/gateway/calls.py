"""What clients asked of the API, and what they got: for people who watch."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

MOST = 1000
"""Calls that are kept: the last ones."""


@dataclass(frozen=True)
class Called:
    at: float
    """Epoch seconds of the cloud's clock, when the answer was there."""
    seconds: float
    """That the answer took."""
    method: str
    path: str
    key: str
    """The header Idempotency-Key; empty where there was none."""
    status: int
    execution: str
    """The ARN of the execution that the call started; empty where it started none."""


class Calls:
    """The calls, the oldest first; `watchers` are called after each."""

    def __init__(self) -> None:
        self.kept: deque[Called] = deque(maxlen=MOST)
        self.watchers: list[Callable[[], None]] = []

    def note(self, call: Called) -> None:
        self.kept.append(call)
        for watcher in list(self.watchers):
            watcher()
