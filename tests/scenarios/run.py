"""A run of scenarios in a stack: it has an id, adds one function, and takes away all that it made."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from scenarios import own_function
from scenarios.backend import Backend, TooLateError
from scenarios.cost import Cost, cost_of
from scenarios.executions import Executions
from scenarios.fast_lane import FastLane
from scenarios.queues import Queues
from scenarios.scene import Scene
from scenarios.traces import Traces

CLOCKS_DIFFER = 300
"""Seconds that this machine's clock may be ahead of the stack's."""
SECONDS_TO_CLEAN_UP = 120


class LeftBehindError(AssertionError):
    """After cleaning up, something of the run is still there."""


@dataclass(frozen=True)
class Run:
    backend: Backend
    id: str
    queues: Queues
    executions: Executions

    def scene(self, longest: float, lane: str) -> Scene:
        """For one scenario, whose every wait may take so many seconds."""
        return Scene(self.backend, self.id, self.queues, self.executions, longest, lane)

    def cost(self) -> Cost:
        """So far, recovery's executions of the operation machine included."""
        return cost_of(self.backend, self.executions.all())


def new_id() -> str:
    return f"e2e-{uuid.uuid4().hex[:8]}"


@contextmanager
def begun(backend: Backend, id: str, *, leaves_function: bool = False) -> Iterator[Run]:
    """A run; at its end, however it came, nothing of it is left. Raises LeftBehindError where something is.

    Its function may be left to a reset of the local cloud, after which it is still warm for the next run.
    """
    queues = Queues(backend.stack, id, backend.receive_seconds)
    began = backend.stack.now() - CLOCKS_DIFFER
    executions = Executions(backend.stack, id, began, FastLane(backend.start_in_fast_lane))
    try:
        own_function.deploy(backend)
        yield Run(backend, id, queues, executions)
    finally:
        _clean_up(backend, id, Traces(backend, id, queues, executions, leaves_function))


def _clean_up(backend: Backend, id: str, traces: Traces) -> None:
    """More than once where it must be: recovery may just be starting what a stopped execution left."""
    left: dict[str, int] = {}

    def clean() -> bool | None:
        traces.delete()
        left.clear()
        left.update((what, count) for what, count in traces.left().items() if count)
        return not left or None

    try:
        backend.until(clean, SECONDS_TO_CLEAN_UP, f"the end of {id}")
    except TooLateError as error:
        raise LeftBehindError(f"{id} left behind: {', '.join(f'{n} {what}' for what, n in left.items())}") from error
