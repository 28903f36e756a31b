"""Map: iterations, which run separately inside one execution. A Parallel is refused: no machine here has one.

As on AWS: at most MaxConcurrency iterations run at a time (40 if it is not set), results are in the order of the items,
and the first failure ends the others and is the failure of the state. All results together are the state's result: over
256 KiB it fails with `States.DataLimitExceeded`, even if Output or Assign would use only a part of it. Variables that
are assigned inside are not visible outside. Virtual time waits for each iteration as for an execution of its own.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from moto.stepfunctions.parser.api import HistoryEventType
from moto.stepfunctions.parser.asl.component.common.error_name.error_name import ErrorName
from moto.stepfunctions.parser.asl.component.common.error_name.failure_event import FailureEvent, FailureEventException
from moto.stepfunctions.parser.asl.component.common.error_name.states_error_name_type import StatesErrorNameType
from moto.stepfunctions.parser.asl.component.state.exec.execute_state import ExecutionState
from moto.stepfunctions.parser.asl.component.state.exec.state_map.iteration import inline_iteration_component
from moto.stepfunctions.parser.asl.component.state.exec.state_map.state_map import StateMap
from moto.stepfunctions.parser.asl.component.state.exec.state_parallel.state_parallel import StateParallel
from moto.stepfunctions.parser.asl.eval.event.event_detail import EventDetails

from oncekit.local.engine import runs
from oncekit.local.engine.history import Abandoned, record
from oncekit.local.engine.limits import exceeded, is_within, text_of
from oncekit.local.engine.patching import replaced
from oncekit.local.engine.runs import Branch
from oncekit.local.engine.states import failure, hand_on

AT_ONCE = 40
"""Iterations of an inline Map that run at the same time at most."""

Begin = Callable[[Any, int], None]


class _Iterations:
    """The iterations of one state: each runs `program`, `begin` makes a frame ready for its number."""

    def __init__(self, env: Any, program: Any, count: int, begin: Begin, state: str) -> None:
        self._env = env
        self._program = program
        self._count = count
        self._begin = begin
        self._state = state
        self._lock = threading.Lock()
        self._waiting = iter(range(count))
        self._alive: set[Branch] = set()
        self._outputs: dict[int, Any] = {}
        self._failure: BaseException | None = None
        self._threads = 0

    def run(self, at_once: int) -> list[Any]:
        """The outputs, in order. Raises the first failure, Abandoned or TimedOut."""
        count = min(at_once, self._count)
        if count == 1:
            self._work()
        elif count:
            self._work_in_threads(count)
        self._env.run.check()
        if self._failure is not None:
            raise self._failure
        return [self._outputs[number] for number in range(self._count)]

    def _work_in_threads(self, count: int) -> None:
        """The last thread at work takes the place of the one that waits here, as far as the clock is concerned."""
        clock = self._env.run.clock
        self._threads = count
        for _ in range(count - 1):
            clock.enter()

        def work() -> None:
            try:
                self._work()
            finally:
                with self._lock:
                    self._threads -= 1
                    others = self._threads
                if others:
                    clock.leave()

        name = self._env.run.execution.name
        threads = [runs.start_thread(work, f"{name}-{number}") for number in range(count)]
        for thread in threads:
            thread.join()

    def _work(self) -> None:
        while True:
            with self._lock:
                number = None if self._failure is not None else next(self._waiting, None)
                if number is None:
                    return
                branch = Branch(self._env.run)
                self._alive.add(branch)
            try:
                self._outputs[number] = self._live(number, branch)
            except BaseException as error:  # raised again where the state waits
                self._fail(error)
            finally:
                with self._lock:
                    self._alive.discard(branch)

    def _fail(self, error: BaseException) -> None:
        with self._lock:
            if self._failure is None:
                self._failure = error
            others = list(self._alive)
        for branch in others:
            branch.end()

    def _live(self, number: int, branch: Branch) -> Any:
        """One iteration, from its first state to its last; its output."""
        env, program = self._env, self._program
        frame = env.open_inner_frame()
        frame.run, frame.assigned, frame.retries = branch, {}, {}
        try:
            self._begin(frame, number)
            self._record(frame, number, "Started")
            frame.next_state_name = program.start_at.start_at_name
            while frame.is_running():
                branch.check()
                program._get_state(frame.next_state_name).eval(frame)
                frame.stack.clear()
                frame.heap.clear()
            branch.check()
            self._record(frame, number, "Succeeded")
        except Abandoned:
            with suppress(Abandoned):
                self._record(frame, number, "Aborted")
            raise
        except FailureEventException as error:
            self._record(frame, number, "Failed")
            raise _OfIteration(env, error) from error
        except Exception as error:  # a fault of the interpreter; AWS calls it States.Runtime
            cause = f"{type(error).__name__}({error})"
            raise failure(env, StatesErrorNameType.StatesRuntime, cause) from error
        finally:
            env.close_frame(frame)
        return frame.states._states_data["input"]

    def _record(self, frame: Any, number: int, what: str) -> None:
        details: Any = {f"mapIteration{what}EventDetails": {"name": self._state, "index": number}}
        record(frame, HistoryEventType(f"MapIteration{what}"), EventDetails(details))


class _OfIteration(FailureEventException):
    """The failure of an iteration as that of the state around it; its own event is in the history already."""

    def __init__(self, env: Any, error: FailureEventException) -> None:
        self._details = error.get_execution_failed_event_details() or {}
        event = FailureEvent(
            env=env,
            error_name=_Name(self._details.get("error")),
            event_type=HistoryEventType.ExecutionFailed,
            event_details=EventDetails(executionFailedEventDetails=self._details),
        )
        event.recorded = True  # type: ignore[attr-defined]  # read by tasks.py
        super().__init__(event)

    def get_execution_failed_event_details(self) -> Any:
        """With the state that it happened in, which moto would say once more for each state around it."""
        return self._details


class _Name(ErrorName):
    """Any name: moto's for errors that are not its own refuses those of Step Functions."""


def _iterate(self: Any, env: Any) -> None:
    """An inline Map."""
    given = env.stack.pop()
    items = given.input_items
    selector = given.item_selector or given.parameters
    state_input = env.stack[-1] if env.stack else None

    def begin(frame: Any, number: int) -> None:
        context = frame.states.context_object.context_object_data
        context["Map"] = {"Item": {"Index": number, "Value": items[number]}}
        hand_on(frame, items[number])
        if selector is not None:
            hand_on(frame, state_input)
            frame.stack.append(state_input)
            selector.eval(frame)
            hand_on(frame, frame.stack[-1])
            frame.stack.clear()

    iterations = _Iterations(env, self._get_iteration_program(), len(items), begin, given.state_name)
    results = iterations.run(min(given.max_concurrency or AT_ONCE, AT_ONCE))
    if not is_within(text_of(results)):
        raise exceeded(env, f"The state/task '{given.state_name}' returned a result")
    env.stack.append(results)


def _refuse(_self: Any, env: Any) -> None:
    raise failure(env, StatesErrorNameType.StatesRuntime, "the local cloud does not run Parallel states")


@contextmanager
def patch() -> Iterator[None]:
    with replaced(
        (inline_iteration_component.InlineIterationComponent, "_eval_body", _iterate),
        (StateMap, "_eval_state", ExecutionState._eval_state),  # as tasks.py has it
        (StateMap, "failed_event", HistoryEventType.MapStateFailed),
        (StateParallel, "_eval_state", _refuse),
    ):
        yield
