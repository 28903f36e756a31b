"""Time as a port: the wall clock for people, virtual time for tests and for `once run`."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol


def _always() -> bool:
    return True


class Clock(Protocol):
    """What the local cloud asks of time. Seconds everywhere; `now` counts from the epoch."""

    def now(self) -> float: ...

    def sleep(self, seconds: float, wanted: Callable[[], bool] = _always, sleeper: object = None) -> None:
        """Wait, or return early once `wanted` says no (an execution that was stopped).

        `sleeper` is the execution that waits; the branches of one count as one.
        """

    def enter(self) -> None:
        """One more execution runs."""

    def leave(self) -> None:
        """One execution has ended."""

    def wake(self) -> None:
        """Ask every sleeper again whether it is still wanted."""

    def real_seconds(self, seconds: float) -> float | None:
        """How long to wait on the wall clock for so much of this time to pass; None when that says nothing."""


class RealClock:
    """The wall clock."""

    def __init__(self) -> None:
        self._changed = threading.Condition()

    def now(self) -> float:
        return time.time()

    def sleep(self, seconds: float, wanted: Callable[[], bool] = _always, sleeper: object = None) -> None:
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

    def real_seconds(self, seconds: float) -> float | None:
        return seconds


@dataclass(eq=False)
class _Sleep:
    end: float
    wanted: Callable[[], bool]
    sleeper: object
    over: threading.Event = field(default_factory=threading.Event)


class VirtualClock:
    """Time that jumps: when every running execution sleeps, it goes on at the earliest end of a sleep.

    An execution whose Lambda function is at work does not sleep, so time stands still while work is done.
    """

    def __init__(self, start: float = 1_767_225_600.0) -> None:  # 2026-01-01T00:00:00Z
        self._now = start
        self._running = 0
        self._sleeps: list[_Sleep] = []
        self._lock = threading.Lock()

    def now(self) -> float:
        return self._now

    def advance(self, seconds: float) -> None:
        """Move time forward by hand."""
        with self._lock:
            self._now += seconds
            self._end_sleeps()
            self._jump_when_all_sleep()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Time stands still while the context is open, unless it is moved by hand."""
        self.enter()
        try:
            yield
        finally:
            self.leave()

    def sleep(self, seconds: float, wanted: Callable[[], bool] = _always, sleeper: object = None) -> None:
        sleep = _Sleep(self._now + seconds, wanted, sleeper)
        if sleeper is None:
            sleep.sleeper = sleep
        with self._lock:
            sleep.end = self._now + seconds
            self._sleeps.append(sleep)
            self._end_sleeps()
            self._jump_when_all_sleep()
        sleep.over.wait()

    def enter(self) -> None:
        with self._lock:
            self._running += 1

    def leave(self) -> None:
        with self._lock:
            self._running -= 1
            self._end_sleeps()
            self._jump_when_all_sleep()

    def wake(self) -> None:
        with self._lock:
            self._end_sleeps()

    def real_seconds(self, seconds: float) -> float | None:
        return None

    def _end_sleeps(self) -> None:
        """End those that are over or no longer wanted; from here on they count as awake."""
        left = []
        for sleep in self._sleeps:
            if sleep.end <= self._now or not sleep.wanted():
                sleep.over.set()
            else:
                left.append(sleep)
        self._sleeps = left

    def _jump_when_all_sleep(self) -> None:
        asleep = {id(sleep.sleeper) for sleep in self._sleeps}
        if asleep and len(asleep) >= self._running:
            self._now = min(sleep.end for sleep in self._sleeps)
            self._end_sleeps()
