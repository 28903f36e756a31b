"""What a matrix strikes: each call of a function, its beginning and its end, and the boundaries of states."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from itertools import zip_longest
from typing import TYPE_CHECKING

from oncekit.testing.faults import Act, Once, beside, dying_at, kill, lose, stop_owner
from oncekit.testing.watch import FunctionCall, Lost, Make

if TYPE_CHECKING:
    from oncekit.testing.kit_cloud import TestCloud

SECONDS_TO_ARRIVE = 30.0
"""Real seconds that a call is held at most."""

Injection = Callable[["TestCloud"], AbstractContextManager[None]]


@dataclass
class Strike:
    """One fault at one place."""

    what: str
    """`the function dies after pay/app.py:12 in handler: dynamodb.put_item`."""
    fault: Injection
    """Is there while its context is open."""
    of_owner: bool = False
    """Whether it strikes the execution. Then Once decides what comes of it, and may leave that to a person."""
    elsewhere: str = ""
    """When work elsewhere ends, if not in time: `late` or `never`; `again`: it ends once more."""
    held: threading.Event = field(default_factory=threading.Event)
    """Set when the function is held."""
    released: threading.Event = field(default_factory=threading.Event)
    """Set when what is held may go on."""

    def injected(self, cloud: TestCloud) -> AbstractContextManager[None]:
        return self.fault(cloud)


def strikes_of(operation: str, calls: Sequence[FunctionCall], boundaries: Sequence[tuple[str, str]]) -> list[Strike]:
    """Every strike for a run that made these calls and came to these boundaries (`enter` or `leave`, a state).

    Where no execution was, the function owned its lock itself.
    """
    # After a read the world is as it was before it.
    writes = [(n, call) for n, call in enumerate(calls) if not call.is_read]
    strikes = [dies_at_its_beginning(operation)]
    strikes += [Strike(f"the function dies after {call}", _at(operation, n, True, kill)) for n, call in writes]
    strikes += [Strike(f"the answer of {call} is lost", _at(operation, n, True, lose)) for n, call in writes]
    strikes += [_another_owner(operation, n, call) for n, call in writes]
    strikes += [Strike(f"the service is unavailable at {call}", _away(operation, n)) for n, call in writes]
    of_owner = [_owner_dies(place, state) for place, state in boundaries]
    # In turns: while an execution is struck, a process that was killed is replaced.
    return [each for pair in zip_longest(strikes, of_owner) for each in pair if each is not None]


def _owner_dies(place: str, state: str) -> Strike:
    is_after = place == "leave"
    what = f"the execution dies {'after' if is_after else 'before'} {state}"
    return Strike(what, lambda cloud: dying_at(cloud, Once(), state, is_after), of_owner=True)


def dies_at_its_beginning(operation: str) -> Strike:
    """Nothing was done before: what comes of it is another attempt that does everything."""

    def begins(call: FunctionCall) -> bool:
        return operation in call.operations and (call.service, call.action) == ("function", "begin")

    return Strike(
        "the function dies at its beginning",
        lambda cloud: cloud.watch.intercept(beside(begins, False, Once(), partial(kill, cloud))),
    )


def dies_in_its_first_attempt(operation: str, table: str, calls: Sequence[FunctionCall]) -> Strike:
    """Of a function that takes the lock itself: nothing was done but that, and recovery does everything."""
    locks = (n for n, call in enumerate(calls) if call.action == "update_item" and f'"{table}"' in call.names)
    return Strike("the function dies when it has its lock", _at(operation, next(locks), True, kill))


# ---- work elsewhere ----


def strikes_elsewhere(operation: str, elsewhere: Callable[[], object]) -> list[Strike]:
    """When the work of a pending operation may end."""
    ends = "work elsewhere ends"

    def is_end(call: FunctionCall) -> bool:
        return operation in call.operations and (call.service, call.action) == ("function", "end")

    def end(_call: FunctionCall) -> None:
        elsewhere()

    def early(cloud: TestCloud) -> AbstractContextManager[None]:
        return cloud.watch.intercept(beside(is_end, False, Once(), end))

    return [
        Strike(f"{ends} before the function has returned", early),
        Strike(f"{ends} twice", lambda _cloud: nullcontext(), elsewhere="again"),
        Strike(f"{ends} after its time was up", lambda _cloud: nullcontext(), elsewhere="late"),
        Strike("work elsewhere never ends", lambda _cloud: nullcontext(), of_owner=True, elsewhere="never"),
    ]


# ---- calls ----


def is_counted(operation: str, call: FunctionCall) -> bool:
    """Calls of business logic, without what a function does while it is loaded: one that is warm does not do it."""
    return operation in call.operations and call.begun and call.service != "function"


def _at(operation: str, number: int, is_after: bool, act: Act) -> Injection:
    """Before or after the call with this number, counted from 0 over all attempts."""
    struck = partial(beside, partial(is_counted, operation), is_after, Once(number + 1))
    return lambda cloud: cloud.watch.intercept(struck(partial(act, cloud)))


def _another_owner(operation: str, number: int, call: FunctionCall) -> Strike:
    """The execution dies; the function hangs until another attempt has done everything, and goes on then."""
    held, released = threading.Event(), threading.Event()

    def hold(cloud: TestCloud, call: FunctionCall) -> None:
        stop_owner(cloud, call)
        held.set()
        released.wait(SECONDS_TO_ARRIVE)

    what = f"another owner has finished before {call}"
    return Strike(what, _at(operation, number, False, hold), held=held, released=released)


def _away(operation: str, number: int) -> Injection:
    """The call, and whatever the same attempt sends again from there, does not arrive."""

    now, refused = Once(number + 1), set[tuple[object, ...]]()

    def intercept(call: FunctionCall, make: Make) -> None:
        same = (call.pid, call.line, call.service, call.action, call.names)
        if call.service == "function":
            refused.clear()
        elif is_counted(operation, call) and (same in refused or now()):
            refused.add(same)
            raise Lost
        make()

    return lambda cloud: cloud.watch.intercept(intercept)
