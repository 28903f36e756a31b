"""Faults by name, for `once_cloud.fault(...)`. Each happens once, at its place.

    owner_dies(after="step:place")      the execution that owns the lock is stopped
    function_crashes(before="...")      the function's process is killed
    answer_lost(of="...")               a call is done, and its answer does not arrive
    runs_twice()                        an execution in the fast lane runs twice, as Express executions may

A place is a state of the state machine (`AcquireLock`), a step of the function (`step:place`), a call that it makes
(`call:dynamodb.put_item`, `call:POST https://api.example.com`, the beginning is enough), or its `begin` and `end`.

A fault that has not happened when its context ends is an error, NeverHappened: what the test shows then, it shows of a
run without a fault.
"""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from oncekit.contract.lanes import FAST, MACHINES
from oncekit.testing.watch import FunctionCall, FunctionInterceptor, Lost, Make

if TYPE_CHECKING:
    from oncekit.local.engine.boundaries import Boundary
    from oncekit.testing.kit_cloud import Fault, TestCloud


class NoSuchPlace(ValueError):
    """The place of a fault is not written as one."""


class NeverHappened(AssertionError):
    """The context of a fault ended, and the fault had not happened."""


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
    strike: Strike = partial(_at, place, is_after, stop_owner)
    if _is_state(place):
        strike = partial(dying_at, state=place, is_after=is_after)
    return _certain(_name("owner_dies", "after" if is_after else "before", place, nth), place, nth, strike)


def function_crashes(*, before: str = "", after: str = "", nth: int = 1) -> Fault:
    """The process of the function is killed; without a place, at its beginning."""
    place, is_after = _one_of(before, after) if before or after else ("begin", False)
    if _is_state(place):
        raise NoSuchPlace(f"a function does not run in {place}: use step:NAME, call:SERVICE.ACTION, begin or end")
    name = _name("function_crashes", "after" if is_after else "before", place, nth)
    return _certain(name, place, nth, partial(_at, place, is_after, kill))


def answer_lost(*, of: str, nth: int = 1) -> Fault:
    """A call of a state, or of the function, is done, and its answer does not arrive: the caller tries again."""
    strike: Strike = partial(_lost_of_a_state, of) if _is_state(of) else partial(_at, of, True, lose)
    return _certain(_name("answer_lost", "of", of, nth), of, nth, strike)


def runs_twice() -> Fault:
    """The next execution in the fast lane is run once more."""

    def strike(cloud: TestCloud, now: Once) -> AbstractContextManager[None]:
        if (machine := cloud.once.outputs.get(MACHINES[FAST])) is None:
            raise NoSuchPlace("the template has no fast lane")
        fast = machine.replace(":stateMachine:", ":express:")  # recovery is Express, too
        return cloud.repeating(lambda arn, _text: [0.0] if arn.startswith(f"{fast}:") and now() else [])

    return _certain("runs_twice()", "", 1, strike)


# ---- what must happen ----

Strike = Callable[["TestCloud", Once], AbstractContextManager[None]]
Act = Callable[["TestCloud", FunctionCall], None]


def _at(place: str, is_after: bool, act: Act, cloud: TestCloud, now: Once) -> AbstractContextManager[None]:
    """A strike at a call of a function."""
    return cloud.watch.intercept(beside(partial(is_at, place), is_after, now, partial(act, cloud)))


def _lost_of_a_state(state: str, cloud: TestCloud, now: Once) -> AbstractContextManager[None]:
    from oncekit.local.engine import interceptors

    _check_state(cloud, state)
    lost = interceptors.answer_lost(nth=0)
    return cloud.intercept(lambda call, proceed: lost(call, proceed) if call.state == state and now() else proceed())


def _certain(name: str, place: str, nth: int, strike: Strike) -> Fault:
    """The fault, which must have happened when its context ends without another error."""

    @contextmanager
    def struck(cloud: TestCloud) -> Iterator[None]:
        now = Once(nth)
        with strike(cloud, now):
            yield
        if now.reached < nth:
            raise NeverHappened(f"{name} did not happen: {_why(cloud, place, now)}")

    return struck


def _name(fault: str, argument: str, place: str, nth: int) -> str:
    return f"{fault}({argument}={json.dumps(place)}{'' if nth == 1 else f', nth={nth}'})"


def _why(cloud: TestCloud, place: str, now: Once) -> str:
    if not place:
        why = 'no execution was started in the fast lane: give lane="fast" to `run`, `finish` or `start`'
    elif _is_state(place):
        why = f"{place} was reached {now.reached} times, or makes no call: `.states` of a result has the states"
    else:
        seen = ", ".join(dict.fromkeys(_place_of(call) for call, _ in cloud.watch.calls))
        why = f"{place} was reached {now.reached} times; the functions made {seen or 'no call'}"
    return f"{why}; the request must end inside the context: use `run`, `finish`, or `start` and `recover` there"


def _place_of(call: FunctionCall) -> str:
    """A place by which a call can be named."""
    if call.service == "function":
        return call.action
    if call.step and call.action == "transact_write_items":
        return f"step:{call.step}"
    return f"call:{call.action} {call.parameters}" if call.service == "http" else f"call:{call.service}.{call.action}"


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


def beside(
    is_it: Callable[[FunctionCall], bool], is_after: bool, now: Once, act: Callable[[FunctionCall], None]
) -> FunctionInterceptor:
    """Acts before or after a call that is meant, at the time that is meant."""

    def intercept(call: FunctionCall, make: Make) -> None:
        struck = is_it(call) and now()
        if struck and not is_after:
            act(call)
        make()
        if struck and is_after:
            act(call)

    return intercept


@contextmanager
def dying_at(cloud: TestCloud, now: Once, state: str, is_after: bool) -> Iterator[None]:
    """An execution is stopped before or after a state."""
    from oncekit.asl.running import Abandoned
    from oncekit.local.engine.boundaries import boundaries

    _check_state(cloud, state)

    def tell(boundary: Boundary) -> None:
        if (boundary.state, boundary.place) == (state, "leave" if is_after else "enter") and now():
            stop(cloud, boundary.execution_arn)
            raise Abandoned

    with boundaries(tell):
        yield


def _check_state(cloud: TestCloud, state: str) -> None:
    definitions = [json.loads(machine.definition) for machine in cloud.executions.machines]
    if state not in {name for definition in definitions for name in _states_in(definition)}:
        raise NoSuchPlace(f"there is no state {state}; a call of the function is step:NAME or call:SERVICE.ACTION")


def _states_in(part: Any) -> Iterator[str]:
    """The names of all states, also of those inside of a Map."""
    if isinstance(part, dict):
        yield from part.get("States", {})
        for member in part.values():
            yield from _states_in(member)


# ---- acts ----


def lose(_cloud: TestCloud, _call: FunctionCall) -> None:
    """Its answer does not arrive."""
    raise Lost


def kill(_cloud: TestCloud, call: FunctionCall) -> None:
    """The process that makes the call is gone, with all that it started: it leads a group of its own."""
    with suppress(ProcessLookupError):
        os.killpg(call.pid, signal.SIGKILL)
    raise Lost


def stop_owner(cloud: TestCloud, call: FunctionCall) -> None:
    """Stop the execution that the newest invocation of the function belongs to; one by an event of its own has none."""
    from oncekit.promises.owners import lock_of

    for each in reversed(cloud.functions.invocations):
        if each.function == call.function:
            lock = lock_of(each.event)
            if owner := str(lock["owner"]) if lock else _caller(cloud):
                stop(cloud, owner)
            return


def _caller(cloud: TestCloud) -> str:
    """The execution that runs a function which gets no lock: a test has one at a time. Empty if none does."""
    from oncekit.local.execution import state_of

    running = cloud.executions.running()
    return next((str(each.arn) for each in running if state_of(each) == "ExecuteBusinessLogic"), "")


def stop(cloud: TestCloud, owner: str) -> None:
    """End an execution. Of an Express one nobody can ask that, but AWS may do it."""
    from oncekit.promises.owners import execution_of_owner

    execution = cloud.executions.find(execution_of_owner(owner))
    execution.stop("Killed", "by the test")
