"""Clocks: real time for people, virtual time for tests and for `once run`."""

from __future__ import annotations

import heapq
import itertools
import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Protocol


class Clock(Protocol):
    """The interface of a clock. All values are seconds; `now` counts from the epoch."""

    def now(self) -> float: ...

    def sleep(self, seconds: float, wanted: Callable[[], bool] = lambda: True) -> None:
        """Wait, or return early once `wanted` says no (an execution that was stopped)."""

    def enter(self) -> None:
        """Counts one more running execution."""

    def leave(self) -> None:
        """Counts one running execution less."""

    def wake(self) -> None:
        """Ask every sleeper again whether it is still wanted."""

    def tick(self) -> None:
        """An execution is about to start: later than all that has happened until now."""

    def held(self) -> AbstractContextManager[None]:
        """While it is open, what starts does so at the same time; nothing happens to a real clock."""

    def real_seconds(self, seconds: float) -> float | None:
        """How long this much time takes on the wall clock; None if that cannot be said."""

    def at(self, when: float, action: Callable[[], None]) -> Callable[[], None]:
        """Call `action` when the time has come; what comes back takes that back again.

        For what happens whether or not anyone waits for it, as a schedule's next turn: virtual time does not go on
        because of it. The action is quick. It comes with one `enter`, and whoever does its work ends that by `leave`.
        """


class RealClock:
    """The wall clock, and what it was moved ahead by hand; sleepers and timers follow."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._ahead = 0.0
        self._alarms: dict[int, _Alarm] = {}
        self._numbers = itertools.count()

    def now(self) -> float:
        return time.time() + self._ahead

    @property
    def ahead(self) -> float:
        """Seconds before the wall clock."""
        return self._ahead

    def advance(self, seconds: float) -> None:
        """Move time forward; what is due then happens now. It never goes back."""
        with self._changed:
            self._ahead += max(0.0, seconds)
            for number, alarm in self._alarms.items():
                alarm.timer.cancel()
                alarm.timer = self._timer(number, alarm.when)
            self._changed.notify_all()

    def sleep(self, seconds: float, wanted: Callable[[], bool] = lambda: True) -> None:
        end = self.now() + seconds
        with self._changed:
            while wanted() and (left := end - self.now()) > 0:
                self._changed.wait(left)

    def enter(self) -> None:
        pass

    def leave(self) -> None:
        pass

    def wake(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def tick(self) -> None:
        pass

    def held(self) -> AbstractContextManager[None]:
        return nullcontext()

    def real_seconds(self, seconds: float) -> float | None:
        return seconds

    def at(self, when: float, action: Callable[[], None]) -> Callable[[], None]:
        with self._changed:
            number = next(self._numbers)
            self._alarms[number] = _Alarm(when, action, self._timer(number, when))

        def take_back() -> None:
            with self._changed:
                if alarm := self._alarms.pop(number, None):
                    alarm.timer.cancel()

        return take_back

    def _timer(self, number: int, when: float) -> threading.Timer:
        timer = threading.Timer(max(0.0, when - self.now()), lambda: self._go_off(number))
        timer.daemon = True
        timer.start()
        return timer

    def _go_off(self, number: int) -> None:
        with self._changed:
            alarm = self._alarms.pop(number, None)
        if alarm is not None:  # it was not taken back meanwhile, nor did its other timer come first
            alarm.action()


@dataclass
class _Alarm:
    when: float
    action: Callable[[], None]
    timer: threading.Timer


REST_SECONDS = 120
"""Real seconds that `advance` waits for the work that a timer started."""
SOON_SECONDS = 0.25
"""Real seconds that `advance` waits for work that is about to end: an execution ends a moment before its thread."""


@dataclass(order=True)
class _Timer:
    when: float
    number: int
    action: Callable[[], None] = field(compare=False)


@dataclass(eq=False)
class _Sleep:
    end: float
    wanted: Callable[[], bool]
    over: threading.Event = field(default_factory=threading.Event)


class VirtualClock:
    """Time that jumps: when every running execution sleeps, it moves to the earliest end of a sleep.

    An execution whose Lambda function is at work does not sleep, so time stands still while work is done. Each start of
    an execution takes a millisecond, so that a later request starts later, as on AWS. On its way
    time stops at every timer, so that what the timer sets off sees its own time; but it never jumps just for a timer.
    """

    def __init__(self, start: float = 1_767_225_600.0) -> None:  # 2026-01-01T00:00:00Z
        self._now = start
        self._running = 0
        self._held = 0
        self._aim = -math.inf
        """Where `advance` goes to."""
        self._sleeps: list[_Sleep] = []
        self._timers: list[_Timer] = []
        self._numbers = itertools.count()
        self._lock = threading.Lock()
        self._moved = threading.Condition(self._lock)

    def now(self) -> float:
        return self._now

    def advance(self, seconds: float) -> None:
        """Move time forward by hand.

        Time stops at each timer on the way, and goes on when everything that it set off has ended or sleeps. If work is
        being done right now - when an interceptor calls this, for instance - time cannot wait for it: it moves, and the
        timers that it passes go off then. Raises TimeoutError when work takes longer than REST_SECONDS.
        """
        self._aim = end = self._now + seconds
        with self._moved:
            if self._timers and self._timers[0].when <= end:
                self._moved.wait_for(self._is_at_rest, SOON_SECONDS)
        stopped = True
        while stopped:
            with self._changing():
                stopped = self._is_at_rest() and bool(self._timers) and self._timers[0].when <= end
                self._now = max(self._now, self._timers[0].when if stopped else end)
                self._end_sleeps()
            if stopped:
                self._rest()

    def quiet_until(self) -> float:
        """Until when nothing happens, for work that a timer set off: time is being moved, and nothing is on its way.

        Until now where other work is being done, or where nothing moves time: neither a hand nor a sleeper.
        """
        with self._lock:
            if self._running - self._held - len(self._sleeps) > 1:  # the one that asks
                return self._now
            ends = [sleep.end for sleep in self._sleeps]
            aim = self._aim if self._aim > self._now else min(ends, default=self._now)
            return max(self._now, min((aim, *ends, *(timer.when for timer in self._timers[:1]))))

    def _rest(self) -> None:
        with self._moved:
            if not self._moved.wait_for(self._is_at_rest, REST_SECONDS):
                raise TimeoutError(f"time was moved, but the work that this started goes on after {REST_SECONDS} s")

    @contextmanager
    def held(self) -> Iterator[None]:
        """Time stands still while the context is open, unless it is moved by hand."""
        with self._lock:
            self._running += 1
            self._held += 1
        try:
            yield
        finally:
            with self._changing():
                self._running -= 1
                self._held -= 1

    def sleep(self, seconds: float, wanted: Callable[[], bool] = lambda: True) -> None:
        sleep = _Sleep(self._now + seconds, wanted)
        with self._changing():
            sleep.end = self._now + seconds
            self._sleeps.append(sleep)
        sleep.over.wait()

    def enter(self) -> None:
        with self._lock:
            self._running += 1

    def leave(self) -> None:
        with self._changing():
            self._running -= 1

    def wake(self) -> None:
        with self._lock:
            self._end_sleeps()

    def tick(self) -> None:
        """To the next millisecond, in which Step Functions tells times, and machines compare them."""
        with self._changing():
            if not self._held:
                self._now = math.floor(self._now * 1000 + 1.5) / 1000

    def real_seconds(self, seconds: float) -> float | None:
        return None

    def at(self, when: float, action: Callable[[], None]) -> Callable[[], None]:
        timer = _Timer(when, next(self._numbers), action)
        with self._changing():
            heapq.heappush(self._timers, timer)

        def take_back() -> None:
            with self._lock:
                if timer in self._timers:
                    self._timers.remove(timer)
                    heapq.heapify(self._timers)

        return take_back

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Hold the lock; afterwards time jumps when it can, and the timers that are due go off, without the lock."""
        with self._lock:
            yield
            self._end_sleeps()
            self._jump_when_all_sleep()
            due = []
            while self._timers and self._timers[0].when <= self._now:
                due.append(heapq.heappop(self._timers))
            self._running += len(due)
            self._moved.notify_all()
        for timer in due:
            timer.action()

    def _end_sleeps(self) -> None:
        """End the sleeps that are over or no longer wanted; from here on their executions count as awake."""
        left = []
        for sleep in self._sleeps:
            if sleep.end <= self._now or not sleep.wanted():
                sleep.over.set()
            else:
                left.append(sleep)
        self._sleeps = left

    def _is_at_rest(self) -> bool:
        """Whether nothing is working: all running executions sleep."""
        return len(self._sleeps) >= self._running - self._held

    def _jump_when_all_sleep(self) -> None:
        if self._sleeps and len(self._sleeps) >= self._running:
            soonest = min(sleep.end for sleep in self._sleeps)
            ahead = min(soonest, self._timers[0].when) if self._timers else soonest
            self._now = max(self._now, ahead)  # a tick passes a timer before it goes off
            self._end_sleeps()
