"""A scheduler: threads that run one at a time, in an order that somebody chooses, in virtual time.

Every execution, function and delivery is a task with a thread of its own. A task runs until it waits; then the next one
is chosen from those that can go on. When none can, time goes on to the earliest end of a wait. So a run depends on
nothing but the choices, and the same choices repeat it exactly.
"""

from __future__ import annotations

import heapq
import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from oncekit.local.engine import runs
from oncekit.local.patching import replaced

Choose = Callable[[list["Task"], "Task | None"], "Task"]
MOST_TURNS = 40_000
"""A run that takes more has no end."""


class Dropped(BaseException):
    """The task is not wanted any more. Not an Exception, since nothing may handle it."""


class Endless(RuntimeError):
    """The run comes to no end."""


@dataclass(eq=False)
class Task:
    """Something that runs in turns. It can go on when the condition holds or the time has come; both None: at once."""

    name: str
    number: int
    baton: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    until: float | None = None
    condition: Callable[[], bool] | None = None
    idle: bool = False
    """Goes on only when nothing else can, now or later."""
    dropped: bool = False
    done: bool = False

    def can_go_on(self, now: float) -> bool:
        if self.dropped or (self.until is None and self.condition is None):
            return True
        return (self.until is not None and self.until <= now) or (self.condition is not None and self.condition())


def oldest(ready: list[Task], current: Task | None) -> Task:
    """Whoever runs goes on for as long as it can; then the one that was there first."""
    return current if current is not None and current in ready else ready[0]


@dataclass(order=True)
class _Timer:
    when: float
    number: int
    action: Callable[[], None] = field(compare=False)


class Scheduler:
    """The order of everything, and the clock of the local cloud. Made and used by the main thread."""

    def __init__(self, start: float = 1_767_225_600.0) -> None:  # 2026-01-01T00:00:00Z
        self.choose: Choose = oldest
        self._now = start
        self._numbers = itertools.count(1)
        self._main = Task("main", 0)
        self._tasks = [self._main]
        self._timers: list[_Timer] = []
        self._turns = 0
        self._local = threading.local()
        self._local.task = self._main
        self._start_thread = runs.start_thread
        self._error: BaseException | None = None

    # ---- tasks ----

    @property
    def current(self) -> Task:
        task: Task = self._local.task
        return task

    def spawn(self, work: Callable[[], object], name: str) -> Task:
        """A new task, which begins when it is its turn."""
        task = Task(name, next(self._numbers))

        def live() -> None:
            self._local.task = task
            task.baton.acquire()
            try:
                if not task.dropped:
                    work()
            except Dropped:
                pass
            except BaseException as error:  # raised again in the main thread
                self._error = self._error or error
            finally:
                task.done = True
                self._tasks.remove(task)
                self._next(None).baton.release()

        self._tasks.append(task)
        self._start_thread(live, name)
        return task

    def wait(self, condition: Callable[[], bool] | None = None, until: float | None = None) -> None:
        """Let others go on; come back when the condition holds or the time has come, at once when neither is given."""
        task = self.current
        task.condition, task.until = condition, until
        self._pass_on(task)

    def rest(self) -> None:
        """In the main thread: until nothing runs or waits for a time any more."""
        self._main.idle, self._main.condition = True, lambda: False
        try:
            self._pass_on(self._main)
        finally:
            self._main.idle = False

    def drop(self) -> None:
        """End all tasks but the main one."""
        for task in self._tasks[1:]:
            task.dropped = True
        before, self.choose = self.choose, oldest
        self._turns = 0
        try:
            while len(self._tasks) > 1:
                self.wait(lambda: len(self._tasks) == 1)
        finally:
            self.choose = before
            self._turns, self._error = 0, None

    def _pass_on(self, task: Task) -> None:
        following = self._next(task)
        if following is not task:
            following.baton.release()
            task.baton.acquire()
        task.condition = task.until = None
        if task.dropped:
            raise Dropped
        if task is self._main and self._error is not None:
            error, self._error = self._error, None
            raise error

    def _next(self, current: Task | None) -> Task:
        self._turns += 1
        if self._turns > MOST_TURNS and self._error is None:
            self._error = Endless(f"{MOST_TURNS} turns and no end")
        if self._error is not None:
            return self._main
        while True:
            ready = [task for task in self._tasks if not task.idle and task.can_go_on(self._now)]
            if ready:
                return self.choose(ready, current)
            if not self._time_goes_on():
                if not self._main.idle:
                    self._error = Endless("everything waits for something that never comes")
                return self._main

    def _time_goes_on(self) -> bool:
        ends = [task.until for task in self._tasks if task.until is not None]
        if not ends:
            return False
        if self._timers and self._timers[0].when <= min(ends):
            timer = heapq.heappop(self._timers)
            self._now = max(self._now, timer.when)
            timer.action()
        else:
            self._now = max(self._now, min(ends))
        return True

    # ---- the clock ----

    def now(self) -> float:
        return self._now

    def sleep(self, seconds: float, wanted: Callable[[], bool] = lambda: True) -> None:
        self.wait(lambda: not wanted(), self._now + seconds)

    def enter(self) -> None:
        pass

    def leave(self) -> None:
        pass

    def wake(self) -> None:
        pass

    def tick(self) -> None:
        """Starts may be in the same millisecond, as on AWS: of two that a schedule makes neither is later."""

    @contextmanager
    def held(self) -> Iterator[None]:
        """Nothing goes on while the main thread does anything."""
        yield

    def real_seconds(self, seconds: float) -> float | None:
        return None

    def at(self, when: float, action: Callable[[], None]) -> Callable[[], None]:
        timer = _Timer(when, next(self._numbers), action)
        heapq.heappush(self._timers, timer)

        def take_back() -> None:
            if timer in self._timers:
                self._timers.remove(timer)
                heapq.heapify(self._timers)

        return take_back

    def restart(self, now: float) -> None:
        """A new beginning at a time; nothing may be going on."""
        self._now, self._turns, self._error = now, 0, None
        self._numbers = itertools.count(1)

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Executions, the branches of their maps, and deliveries take turns while the context is open."""
        from oncekit.local.events import exchange

        def start_thread(work: Callable[[], None], name: str) -> _Joined:
            return _Joined(self, self.spawn(work, name))

        with replaced(
            (runs, "start_thread", start_thread),
            (exchange, "DeliveryQueue", lambda _clock, _activity: DeliveryQueue(self)),
        ):
            yield


@dataclass(frozen=True)
class _Joined:
    """What an execution asks of a thread."""

    scheduler: Scheduler
    task: Task

    def join(self, _timeout: float | None = None) -> None:
        self.scheduler.wait(lambda: self.task.done)


class DeliveryQueue:
    """Does what is to be delivered, each delivery as a task: see `oncekit.local.events.delivery_queue`."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._round = 0
        self._cancels: dict[int, Callable[[], None]] = {}
        self._numbers = itertools.count()

    def soon(self, work: Callable[[], None]) -> None:
        round_ = self._round
        self._scheduler.spawn(lambda: work() if round_ == self._round else None, "delivery")

    def later(self, seconds: float, work: Callable[[], None]) -> None:
        round_ = self._round

        def wait_and_work() -> None:
            self._scheduler.sleep(seconds)
            if round_ == self._round:
                work()

        self._scheduler.spawn(wait_and_work, "delivery")

    def at(self, when: float, work: Callable[[], None]) -> Callable[[], None]:
        number = next(self._numbers)

        def go() -> None:
            self._cancels.pop(number, None)
            self.soon(work)

        cancel = self._scheduler.at(when, go)
        self._cancels[number] = cancel
        return cancel

    def forget(self) -> None:
        self._round += 1
        cancels, self._cancels = self._cancels, {}
        for cancel in cancels.values():
            cancel()

    close = forget
