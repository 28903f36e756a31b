"""The delivery queue: one thread that makes all deliveries in order, while virtual time stands still.

What takes its time, a function, is invoked beside it: `aside`.

There are two kinds of later work. `later` must happen, like the retry of a delivery: virtual time moves to it when
there is nothing else to do. `at` happens only if virtual time reaches it, like the next run of a schedule.
"""

from __future__ import annotations

import itertools
import logging
import queue
import threading
from collections.abc import Callable

from oncekit.local.clock import Clock

Work = Callable[[], None]
FAULT = "a delivery failed by a fault of the local cloud or of an interceptor"
_log = logging.getLogger(__name__)


class Activity:
    """Counts work in progress, so that one can wait until there is none."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._going_on = 0

    def begin(self) -> None:
        with self._changed:
            self._going_on += 1

    def end(self) -> None:
        with self._changed:
            self._going_on -= 1
            self._changed.notify_all()

    def wait(self, timeout: float) -> bool:
        """Wait until nothing is in progress, `timeout` real seconds at most."""
        with self._changed:
            return self._changed.wait_for(lambda: self._going_on == 0, timeout)


class DeliveryQueue:
    """Does work in a thread of its own. After a failure it continues with the next; `check` reports the failure."""

    def __init__(self, clock: Clock, activity: Activity) -> None:
        self._clock = clock
        self._activity = activity
        self._queue: queue.SimpleQueue[tuple[int, Work] | None] = queue.SimpleQueue()
        self._round = 0
        self._fault: Exception | None = None
        self._numbers = itertools.count()
        self._cancels: dict[int, Callable[[], None]] = {}
        self._thread = threading.Thread(target=self._live, name="delivery_queue", daemon=True)
        self._thread.start()

    def soon(self, work: Work) -> None:
        """Do it after all earlier work."""
        self._activity.begin()
        self._clock.enter()
        self._queue.put((self._round, work))

    def aside(self, work: Work) -> None:
        """Do it in a thread of its own, so that it holds up nothing behind it; virtual time stands still meanwhile."""
        self._activity.begin()
        self._clock.enter()
        given = self._round, work
        threading.Thread(target=self._do, args=given, name="delivery_queue-aside", daemon=True).start()

    def later(self, seconds: float, work: Work) -> None:
        """Do it after this much time."""
        if seconds <= 0:
            self.soon(work)
            return
        self._activity.begin()
        self._clock.enter()
        threading.Thread(
            target=self._wait, args=(seconds, self._round, work), name="delivery_queue-later", daemon=True
        ).start()

    def _wait(self, seconds: float, round_: int, work: Work) -> None:
        self._clock.sleep(seconds, lambda: self._round == round_)
        self._queue.put((round_, work))

    def at(self, when: float, work: Work) -> Callable[[], None]:
        """Do it when time comes by; what comes back takes that back again."""
        round_, number = self._round, next(self._numbers)

        def go() -> None:
            self._cancels.pop(number, None)
            self._activity.begin()
            self._queue.put((round_, work))

        def take_back() -> None:
            self._cancels.pop(number, None)
            cancel()

        cancel = self._clock.at(when, go)
        self._cancels[number] = cancel
        return take_back

    def check(self) -> None:
        """Raises RuntimeError, once, if work has failed since the last call."""
        fault, self._fault = self._fault, None
        if fault is not None:
            raise RuntimeError(FAULT) from fault

    def forget(self) -> None:
        """Drop all work that has not begun. Work that has begun is finished."""
        self._round += 1
        cancels, self._cancels = self._cancels, {}
        for cancel in cancels.values():
            cancel()
        self._clock.wake()

    def close(self) -> None:
        self.forget()
        self._queue.put(None)
        self._thread.join(5)

    def _live(self) -> None:
        while (item := self._queue.get()) is not None:
            self._do(*item)

    def _do(self, round_: int, work: Work) -> None:
        try:
            if round_ == self._round:
                work()
        except Exception as error:  # the delivery queue outlives what it carries
            _log.exception(FAULT)
            self._fault = error
        finally:
            self._clock.leave()
            self._activity.end()
