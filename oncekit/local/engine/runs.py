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
from dataclasses import dataclass
from typing import Any

from moto.stepfunctions.parser.api import ExecutionStatus, HistoryEventType
from moto.stepfunctions.parser.asl.component.common.error_name.failure_event import FailureEventException
from moto.stepfunctions.parser.asl.component.eval_component import EvalComponent
from moto.stepfunctions.parser.asl.eval.environment import Environment
from moto.stepfunctions.parser.asl.eval.event.event_detail import EventDetails

from oncekit.local.clock import Clock
from oncekit.local.engine.history import Abandoned, record
from oncekit.local.engine.limits import text_of
from oncekit.local.patching import Change

# The canonical form of a payload 300 deep, in frames of Python; what calls into C and back needs the larger stack.
RECURSION_LIMIT = 20_000
STACK_BYTES = 16 * 1024 * 1024
_stack_size = threading.Lock()

Details = Mapping[str, Any]
FINAL_EVENTS: Mapping[ExecutionStatus, tuple[HistoryEventType, str]] = {
    ExecutionStatus.SUCCEEDED: (HistoryEventType.ExecutionSucceeded, "executionSucceededEventDetails"),
    ExecutionStatus.FAILED: (HistoryEventType.ExecutionFailed, "executionFailedEventDetails"),
    ExecutionStatus.ABORTED: (HistoryEventType.ExecutionAborted, "executionAbortedEventDetails"),
    ExecutionStatus.TIMED_OUT: (HistoryEventType.ExecutionTimedOut, "executionTimedOutEventDetails"),
}


class TimedOut(BaseException):
    """The machine's TimeoutSeconds are over. Not an Exception, since no state may handle it."""


ended = threading.Condition()
"""Is told of the end of each execution, so that a thread can wait for one without polling."""
watchers: list[Callable[[Any], None]] = []
"""Called with an execution that began to run, also by a redrive, or ended; quick, and before time can go on."""


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


@dataclass(frozen=True)
class Checkpoint:
    """The beginning of a state, from which a redrive continues."""

    state: str
    input: Any
    variables: Mapping[str, Any]


class Run:
    """One run of an execution. `env` is moto's environment of it; `limit` the machine's TimeoutSeconds."""

    def __init__(self, execution: Any, env: Any, clock: Clock, limit: float | None) -> None:
        self.execution = execution
        self.env = env
        self.clock = clock
        self.deadline = math.inf if limit is None else clock.now() + limit
        self.over = False
        self.checkpoint: Checkpoint | None = None
        self._lock = threading.Lock()
        self._waiting: list[threading.Event] = []
        self._done = threading.Event()

    def check(self) -> None:
        """Raises Abandoned when the execution is over, TimedOut when its time is.

        Virtual time that is moved by hand while a function works does not time the execution out: only waiting does.
        """
        if self.over:
            raise Abandoned
        left = self.deadline - self.clock.now()
        if left <= 0 and self.clock.real_seconds(left) is not None:
            raise TimedOut

    def pause(self, seconds: float, wanted: Callable[[], bool]) -> None:
        """Wait on the clock, at most until the deadline. Raises Abandoned or TimedOut when that comes first."""
        left = self.deadline - self.clock.now()
        if seconds > 0:
            self.clock.sleep(min(seconds, left), lambda: not self.over and wanted())
        if self.over:
            raise Abandoned
        if seconds >= left:
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

    def end(self, status: ExecutionStatus, details: Details) -> bool:
        """End the execution, unless it has ended already; returns whether this call ended it."""
        execution = self.execution
        with self._lock:
            if self.over:
                return False
            self.over = True
            kind, field = FINAL_EVENTS[status]
            record(self.env, kind, EventDetails({field: details}), last=True)  # type: ignore[misc]  # by status
            execution.error, execution.cause = details.get("error"), details.get("cause")
            execution.stop_date = instant(self.clock)
            execution.exec_status = status
            for event in self._waiting:
                event.set()
        self._tell_watchers()
        self.clock.wake()
        self.clock.leave()
        with ended:
            ended.notify_all()
        return True

    def _tell_watchers(self) -> None:
        for watcher in watchers:
            watcher(self.execution)

    def begin(self) -> None:
        """From now on the execution runs, and may be stopped; `go` does its work."""
        self.clock.enter()
        self._tell_watchers()

    def go(self, program: Any) -> None:
        """Work in a thread of its own, from the state that the environment has next."""

        def work() -> None:
            try:
                self._live(program)
            finally:
                self._done.set()

        start_thread(work, self.execution.name)

    def join(self, timeout: float) -> None:
        """Wait until nothing more is done in the name of the execution: a call may go on beyond its end."""
        self._done.wait(timeout)

    def _live(self, program: Any) -> None:
        env = self.env
        try:
            while env.is_running():
                program._get_state(env.next_state_name).eval(env)
                env.stack.clear()
                env.heap.clear()
                self.check()
        except Abandoned:
            pass
        except TimedOut:
            env.set_timed_out()
            self.end(ExecutionStatus.TIMED_OUT, {})
        except FailureEventException as failure:
            self._fail(failure.get_execution_failed_event_details() or {})
        except Exception as error:  # a fault of the interpreter; AWS calls it States.Runtime
            self._fail({"error": "States.Runtime", "cause": f"{type(error).__name__}({error})"})
        else:
            output = env.states._states_data["input"]
            self.execution.output = output
            details = {"output": text_of(output), "outputDetails": {"truncated": False}}
            self.end(ExecutionStatus.SUCCEEDED, details)

    def _fail(self, details: Details) -> None:
        self.env.set_error(error=details)
        self.end(ExecutionStatus.FAILED, details)


def instant(clock: Clock) -> datetime.datetime:
    """The current time of the clock."""
    return datetime.datetime.fromtimestamp(clock.now(), datetime.UTC)


def changes() -> list[Change]:
    inner_frame = Environment.as_inner_frame_of.__func__  # type: ignore[attr-defined]  # a class method

    def as_inner_frame_of(cls: Any, env: Any, *args: Any, **kwargs: Any) -> Any:
        frame = inner_frame(cls, env, *args, **kwargs)
        frame.run = env.run
        return frame

    def eval_component(self: Any, env: Any) -> None:
        """Without moto's log of every failure that a state handles."""
        if env.is_running():
            field = self._field_name()
            if field is not None:
                env.next_field_name = field
            self._eval_body(env)

    def program_state(self: Any) -> Any:
        return self._program_state

    return [
        (Environment, "as_inner_frame_of", classmethod(as_inner_frame_of)),
        (Environment, "program_state", program_state),
        (EvalComponent, "eval", eval_component),
    ]
