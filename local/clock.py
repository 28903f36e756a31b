"""Time as a port: the wall clock for people, virtual time for tests and for `once run`."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Protocol


def _always() -> bool:
    return True


class Clock(Protocol):
    """What the local cloud asks of time. Seconds everywhere; `now` counts from the epoch."""

    def now(self) -> float: ...

    def sleep(self, seconds: float, wanted: Callable[[], bool] = _always) -> None:
        """Wait, or return early once `wanted` says no (an execution that was stopped)."""

    def enter(self) -> None:
        """One more execution runs."""

    def leave(self) -> None:
        """One execution has ended."""

    def wake(self) -> None:
        """Ask every sleeper again whether it is still wanted."""


class RealClock:
    """The wall clock."""

    def __init__(self) -> None:
        self._changed = threading.Condition()

    def now(self) -> float:
        return time.time()

    def sleep(self, seconds: float, wanted: Callable[[], bool] = _always) -> None:
        end = time.monotonic() + seconds
        with self._changed:
            while wanted() and (left := end - time.monotonic()) > 0:
                self._changed.wait(left)

    def enter(self) -> None:
        pass

    def leave(self) -> None:
        pass

    def wake(self) -> None:
        with self._changed:
            self._changed.notify_all()


class VirtualClock:
    """Time that jumps: when every running execution sleeps, it goes on at the earliest end of a sleep.

    An execution whose Lambda function is at work does not sleep, so time stands still while work is done.
    """

    def __init__(self, start: float = 1_767_225_600.0) -> None:  # 2026-01-01T00:00:00Z
        self._now = start
        self._running = 0
        self._ends: list[float] = []
        self._changed = threading.Condition()

    def now(self) -> float:
        return self._now

    def advance(self, seconds: float) -> None:
        """Move time forward by hand."""
        with self._changed:
            self._now += seconds
            self._changed.notify_all()

    def sleep(self, seconds: float, wanted: Callable[[], bool] = _always) -> None:
        with self._changed:
            end = self._now + seconds
            self._ends.append(end)
            try:
                self._jump_when_all_sleep()
                while self._now < end and wanted():
                    self._changed.wait()
            finally:
                self._ends.remove(end)

    def enter(self) -> None:
        with self._changed:
            self._running += 1

    def leave(self) -> None:
        with self._changed:
            self._running -= 1
            self._jump_when_all_sleep()

    def wake(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def _jump_when_all_sleep(self) -> None:
        asleep = [end for end in self._ends if end > self._now]
        if asleep and len(asleep) >= self._running:
            self._now = min(asleep)
            self._changed.notify_all()
