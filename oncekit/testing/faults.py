"""Faults by name, for `once_cloud.fault(...)`. Each happens once, at its place.

    owner_dies(after="step:place")      the execution that owns the lock is stopped
    function_crashes(before="...")      the function's process is killed
    answer_lost(of="...")               a call is done, and its answer does not arrive
    event_lost()                        nobody hears of an execution's death; the sweep finds it
    runs_twice()                        an execution in the fast lane runs twice, as Express executions may

A place is a state of the state machine (`AcquireLock`), a step of the function (`step:place`), a call that it makes
(`call:dynamodb.put_item`, `call:POST https://api.example.com`, the beginning is enough), or its `begin` and `end`.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from oncekit.testing.watch import FunctionCall, FunctionInterceptor, Lost, Make, kill

if TYPE_CHECKING:
    from oncekit.local.boundaries import Boundary
    from oncekit.testing.cloud import Fault, TestCloud


class NoSuchPlace(ValueError):
    """The place of a fault is not written as one."""


@dataclass
class Once:
    """Says yes at the n-th time that a place is reached, counted from 1."""

    nth: int = 1
    reached: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self) -> bool:
        with self._lock:
            self.reached += 1
            return self.reached == self.nth


def owner_dies(*, before: str = "", after: str = "", nth: int = 1) -> Fault:
    """The execution is stopped, as it may be by a time limit, an operator or a quota; its function goes on.

    Recovery hears of it, and another execution takes the lock over.
    """
    place, is_after = _one_of(before, after)
    if _is_state(place):
        return _at_boundary(place, "leave" if is_after else "enter", Once(nth))

    def strike(cloud: TestCloud) -> AbstractContextManager[None]:
        return cloud.watch.intercept(_beside(place, is_after, Once(nth), lambda call: stop_owner(cloud, call)))

    return strike


def function_crashes(*, before: str = "", after: str = "", nth: int = 1) -> Fault:
    """The process of the function is killed; without a place, at its beginning."""
    place, is_after = _one_of(before, after) if before or after else ("begin", False)
    if _is_state(place):
        raise NoSuchPlace(f"a function does not run in {place}: use step:NAME, call:SERVICE.ACTION, begin or end")
    return lambda cloud: cloud.watch.intercept(_beside(place, is_after, Once(nth), kill))


def answer_lost(*, of: str, nth: int = 1) -> Fault:
    """A call of a state, or of the function, is done, and its answer does not arrive: the caller tries again."""
    if _is_state(of):
        from oncekit.local import faults

        return lambda cloud: cloud.intercept(faults.answer_lost(state=of, nth=nth))

    def lose(_call: FunctionCall) -> None:
        raise Lost

    return lambda cloud: cloud.watch.intercept(_beside(of, True, Once(nth), lose))


def event_lost() -> Fault:
    """The events that tell recovery of a death are lost; what dies is found by the sweep, after its lease."""

    def strike(cloud: TestCloud) -> AbstractContextManager[None]:
        return cloud.lose_events(lambda delivery: () if delivery.kind == "rule" else (0.0,))

    return strike


def runs_twice(*, later: float = 0.0) -> Fault:
    """The next execution in the fast lane is run once more, at once or after so many seconds."""
    from oncekit.local import faults

    return lambda cloud: cloud.repeating(faults.runs_twice(later=later))


# ---- places ----


def _one_of(before: str, after: str) -> tuple[str, bool]:
    if bool(before) == bool(after):
        raise NoSuchPlace("say either before= or after=")
    return before or after, bool(after)


def _is_state(place: str) -> bool:
    return place not in ("begin", "end") and not place.startswith(("step:", "call:"))


def is_at(place: str, call: FunctionCall) -> bool:
    """Whether a call is the place."""
    if place in ("begin", "end"):
        return (call.service, call.action) == ("function", place)
    kind, _, name = place.partition(":")
    if kind == "step":
        return call.step == name and call.action == "transact_write_items"
    told = f"{call.action} {call.parameters}" if call.service == "http" else f"{call.service}.{call.action}"
    return told.startswith(name)


def _beside(place: str, is_after: bool, now: Once, act: Callable[[FunctionCall], None]) -> FunctionInterceptor:
    def intercept(call: FunctionCall, make: Make) -> None:
        struck = is_at(place, call) and now()
        if struck and not is_after:
            act(call)
        make()
        if struck and is_after:
            act(call)

    return intercept


def _at_boundary(state: str, place: str, now: Once) -> Fault:
    @contextmanager
    def struck(cloud: TestCloud) -> Iterator[None]:
        from oncekit.local.boundaries import boundaries
        from oncekit.local.engine.history import Abandoned

        definitions = [json.loads(machine.definition) for machine in cloud.executions.machines]
        names = {name for definition in definitions for name in _states_in(definition)}
        if state not in names:
            raise NoSuchPlace(f"there is no state {state}; a call of the function is step:NAME or call:SERVICE.ACTION")

        def tell(boundary: Boundary) -> None:
            if (boundary.state, boundary.place) == (state, place) and now():
                stop(cloud, boundary.execution_arn)
                raise Abandoned

        with ExitStack() as stack:
            stack.enter_context(boundaries(tell))
            yield

    return struck


def _states_in(part: Any) -> Iterator[str]:
    """The names of all states, also of those inside of a Map."""
    if isinstance(part, dict):
        yield from part.get("States", {})
        for member in part.values():
            yield from _states_in(member)


# ---- acts ----


def stop_owner(cloud: TestCloud, call: FunctionCall) -> None:
    """Stop the execution that the newest invocation of the function belongs to."""
    from oncekit.promises.owners import lock_of

    for each in reversed(cloud.invocations(call.operation)):
        lock = lock_of(each.event)
        stop(cloud, str(lock["owner"]) if lock else _caller(cloud))
        return


def _caller(cloud: TestCloud) -> str:
    """The execution that runs a function which is told of no lock: a test has one at a time."""
    from oncekit.local.execution import state_of

    running = cloud.executions.running()
    return next(str(each.exec_arn) for each in running if state_of(each) == "ExecuteBusinessLogic")


def stop(cloud: TestCloud, owner: str) -> None:
    """End an execution. Of an Express one nobody can ask that, but AWS may do it."""
    from moto.stepfunctions.parser.api import ExecutionStatus

    from oncekit.promises.owners import execution_of_owner

    execution = cloud.executions.find(execution_of_owner(owner))
    execution.exec_worker.env.run.end(ExecutionStatus.ABORTED, {"error": "Killed", "cause": "by the test"})
