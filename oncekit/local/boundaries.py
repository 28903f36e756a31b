"""Where a state begins and ends: who asks is told, and may stop the execution there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from oncekit.local.engine import states
from oncekit.local.patching import replaced


@dataclass(frozen=True)
class Boundary:
    """A state that an execution enters or leaves."""

    place: str
    """`enter` or `leave`."""
    state: str
    execution_arn: str
    machine: str
    execution: Any = field(compare=False, repr=False)
    """Moto's: two runs of an Express execution have one ARN."""


@contextmanager
def boundaries(tell: Callable[[Boundary], None]) -> Iterator[None]:
    """Told before a state begins its work and after it has left, in the thread of the execution."""
    enter, leave = states.enter, states.leave

    def on_enter(state: Any, env: Any) -> None:
        enter(state, env)
        tell(_boundary("enter", state, env))

    def on_leave(state: Any, env: Any, assigned: dict[str, str]) -> None:
        leave(state, env, assigned)
        tell(_boundary("leave", state, env))

    with replaced((states, "enter", on_enter), (states, "leave", on_leave)):
        yield


def _boundary(place: str, state: Any, env: Any) -> Boundary:
    execution = env.run.execution
    return Boundary(place, state.name, execution.exec_arn, execution.state_machine.name, execution)
