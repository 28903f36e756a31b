"""A run of an execution, from its start or a redrive to its end.

A run ends once, by whatever comes first: its last state, a failure, StopExecution or the machine's TimeoutSeconds. From
then on the execution has its status, nothing is added to its history, and calls that are still in progress are
abandoned: a function continues to run, as on AWS, but its answer is ignored.
"""

from __future__ import annotations

import datetime
import math
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from oncekit.asl import running
from oncekit.asl.errors import RUNTIME, StateError
from oncekit.asl.history import History
from oncekit.asl.running import WHOLE, Abandoned, TimedOut
from oncekit.asl.sizes import MAX_EVENTS, text_of
from oncekit.asl.states import Call, Frame, Machine, Way
from oncekit.local.clock import Clock
from oncekit.local.engine.integrations import perform
from oncekit.local.engine.live import ABORTED, FAILED, SUCCEEDED, TIMED_OUT, LiveExecution
from oncekit.local.engine.service_calls import ServiceCalls, Where

# The canonical form of a payload 300 deep, in frames of Python; what calls into C and back needs the larger stack.
RECURSION_LIMIT = 20_000
STACK_BYTES = 16 * 1024 * 1024
_stack_size = threading.Lock()

_LAST = {SUCCEEDED: "Succeeded", FAILED: "Failed", ABORTED: "Aborted", TIMED_OUT: "TimedOut"}

ended = threading.Condition()
"""Is told of the end of each execution, so that a thread can wait for one without polling."""
_done = threading.Condition()
"""Is told of the end of each thread. One for all: an event of its own takes a kilobyte of an execution that is kept."""
watchers: list[Callable[[Any], None]] = []
"""Called with an execution that began to run, also by a redrive, or ended; quick, and before time can go on."""
borders: list[Callable[[str, Frame, Any], None]] = []
"""Called with `enter` or `leave`, the frame and the execution, in its thread, when a state begins or has been left."""


class TooManyEvents(BaseException):
    """The history is full. Not an Exception, since no state may handle it."""


def start_thread(work: Callable[[], None], name: str) -> threading.Thread:
    """A thread in which expressions can go deep."""
    thread = threading.Thread(target=work, name=name, daemon=True)
    with _stack_size:
        before = threading.stack_size(STACK_BYTES)
        try:
            thread.start()
        finally:
            threading.stack_size(before)
    return thread


class Run:
    """One run of an execution: what its machine is handed. `limit` is the machine's TimeoutSeconds."""

    def __init__(
        self,
        execution: LiveExecution,
        machine: Machine,
        frame: Frame,
        history: History,
        clock: Clock,
        limit: float | None,
        calls: ServiceCalls,
    ) -> None:
        self.execution = execution
        self.history = history
        self.clock = clock
        self.deadline = math.inf if limit is None else clock.now() + limit
        self.over = False
        self.checkpoint = replace(frame)
        self._machine = machine
        self._frame = frame
        self._calls = calls
        self._lock = threading.Lock()
        self._waiting: list[threading.Event] = []
        self._is_done = self._is_told = False

    @property
    def variables(self) -> Mapping[str, Any]:
        """Those that its present state reads."""
        return self._frame.variables

    def check(self) -> None:
        """Raises Abandoned when the execution is over, TimedOut when its time is.

        Virtual time that is moved by hand while a function works does not time the execution out: only waiting does.
        """
        if self.over:
            raise Abandoned
        left = self.deadline - self.clock.now()
        if left <= 0 and self.clock.real_seconds(left) is not None:
            raise TimedOut

    @contextmanager
    def waking(self, event: threading.Event) -> Iterator[None]:
        """Set the event when this ends while the context is open."""
        with self._lock:
            self._waiting.append(event)
            if self.over:
                event.set()
        try:
            yield
        finally:
            with self._lock:
                self._waiting.remove(event)

    # ---- what a machine is handed ----

    def call(self, frame: Frame, call: Call) -> Any:
        attempt = frame.context["State"]["RetryCount"]
        timeout = math.inf if call.timeout is None else call.timeout
        return perform(self._calls, Where(self, frame.state, attempt, timeout), call)

    def pause(self, seconds: float) -> None:
        """Wait on the clock, at most until the deadline. Raises Abandoned or TimedOut when that comes first."""
        left = self.deadline - self.clock.now()
        if seconds > 0:
            self.clock.sleep(min(seconds, left), lambda: not self.over)
        if self.over:
            raise Abandoned
        if seconds >= left:
            raise TimedOut

    def record(
        self, kind: str, details: Mapping[str, Any], *, after: int | None = None, is_followed: bool = True
    ) -> int:
        with self._lock:
            return self._add(kind, details, after, is_followed)

    def _add(self, kind: str, details: Mapping[str, Any], after: int | None = None, is_followed: bool = True) -> int:
        if self.over:
            raise Abandoned
        if self.history.is_full and self.execution.machine.type != "EXPRESS":
            raise TooManyEvents
        return self.history.add(kind, details, after=after, is_followed=is_followed)

    def entered(self, frame: Frame) -> None:
        self._tell("enter", frame)

    def left(self, frame: Frame, way: Way, kind: str, details: Mapping[str, Any]) -> None:
        """A redrive goes on at the next state; of a Map from its beginning."""
        with self._lock:
            self._add(kind, details)
            if frame is self._frame and way.to is not None:
                variables = {**frame.variables, **way.assigned}
                self.checkpoint = replace(frame, state=way.to, input=way.output, variables=variables)
        self._tell("leave", frame)
        if self.execution.machine.is_deleted:
            self.end(ABORTED, {})
        self.check()

    def _tell(self, place: str, frame: Frame) -> None:
        for border in borders:
            border(place, frame, self.execution)

    # ---- its life ----

    def begin(self) -> None:
        """From now on the execution runs, and may be stopped; `go` does its work."""
        self.clock.enter()
        try:
            self._tell_watchers()
        except BaseException:
            self.clock.leave()
            raise

    def go(self) -> None:
        """Work in a thread of its own."""

        def work() -> None:
            try:
                self._live()
            finally:
                with _done:
                    self._is_done = True
                    _done.notify_all()

        start_thread(work, self.execution.name)

    def join(self, timeout: float) -> None:
        """Wait until nothing more is done in the name of the execution: a call may go on beyond its end."""
        with _done:
            _done.wait_for(lambda: self._is_done, timeout)

    def wait_until_told(self) -> None:
        """Its end, to everybody: a redrive comes after that."""
        with ended:
            ended.wait_for(lambda: self._is_told)

    def end(self, status: str, details: Mapping[str, Any], output: Any = None) -> None:
        """End the execution, unless it has ended already."""
        execution = self.execution
        with self._lock:
            if self.over:
                return
            self.over = True
            self.history.add(f"Execution{_LAST[status]}", details)
            execution.error, execution.cause = details.get("error"), details.get("cause")
            execution.output = output
            execution.stop_date = instant(self.clock)
            execution.status = status
            for event in self._waiting:
                event.set()
        try:
            self._tell_watchers()
        finally:
            self.clock.wake()
            self.clock.leave()
            with ended:
                self._is_told = True
                ended.notify_all()

    def pack(self) -> None:
        """Of an execution that has ended: keep what may be asked for, in less room."""
        self.history.pack()
        if self.execution.status == SUCCEEDED:  # no redrive goes on from there
            self.checkpoint = self._frame = Frame(self._frame.state, None, {}, {})

    def _tell_watchers(self) -> None:
        for watcher in watchers:
            watcher(self.execution)

    def _live(self) -> None:
        try:
            output = running.run(self._machine, self._frame, self)
            self.check()
        except Abandoned:
            pass
        except TimedOut:
            self.end(TIMED_OUT, {})
        except TooManyEvents:
            told = f"The execution reached the maximum number of history events ({MAX_EVENTS})."
            self.end(FAILED, StateError(RUNTIME, told).details)
        except StateError as error:
            self.end(FAILED, error.details)
        except BaseException as error:  # a fault of the interpreter, which AWS calls States.Runtime, or of a test
            self.end(FAILED, StateError(RUNTIME, f"{type(error).__name__}({error})").details)
            if not isinstance(error, Exception):
                raise
        else:
            self.end(SUCCEEDED, {"output": text_of(output), "outputDetails": WHOLE}, output)


def instant(clock: Clock) -> datetime.datetime:
    """The current time of the clock."""
    return datetime.datetime.fromtimestamp(clock.now(), datetime.UTC)
