"""A story that the pages tell step by step: each step does something, says it in a sentence, and shows a page of it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Shown:
    """What came of a step."""

    address: str
    """The page of the console that shows it."""
    failures: Sequence[str] = ()
    """What was not as it must be."""


@dataclass(frozen=True)
class Step:
    title: str
    button: str
    """What somebody asks for who goes on to it."""
    told: str
    """What has happened, once it was taken."""
    take: Callable[[], Shown]


class Tour:
    """The steps, and how many of them were taken. Thread-safe."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self.steps = steps
        self.taken = 0
        self.failures: Sequence[str] = ()
        """Of the last step."""
        self.over = threading.Event()
        """Somebody went on after the last step."""
        self._taking = threading.Lock()

    @property
    def last(self) -> Step | None:
        return self.steps[self.taken - 1] if self.taken else None

    @property
    def next(self) -> Step | None:
        return self.steps[self.taken] if self.taken < len(self.steps) else None

    def go_on(self, taken: int) -> str | None:
        """Take the step after so many, unless it was taken meanwhile; the page to look at, None after the last one."""
        with self._taking:
            step = self.next
            if step is None or taken != self.taken:
                return None if step is None and taken == self.taken else "/"
            shown = step.take()
            self.taken, self.failures = taken + 1, shown.failures
            return shown.address
