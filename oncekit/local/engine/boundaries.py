"""Where a state begins and ends: who asks is told, and may stop the execution there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from oncekit.asl.states import Frame
from oncekit.local.engine.runs import borders


@dataclass(frozen=True)
class Boundary:
    """A state that an execution enters or leaves."""

    place: str
    """`enter` or `leave`."""
    state: str
    execution_arn: str
    machine: str
    execution: Any = field(compare=False, repr=False)
    """The live one: two runs of an Express execution have one ARN."""


@contextmanager
def boundaries(tell: Callable[[Boundary], None]) -> Iterator[None]:
    """Told before a state begins its work and after it has left, in the thread of the execution."""

    def told(place: str, frame: Frame, execution: Any) -> None:
        tell(Boundary(place, frame.state, execution.arn, execution.machine.name, execution))

    borders.append(told)
    try:
        yield
    finally:
        borders.remove(told)
