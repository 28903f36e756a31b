"""What can happen in a run, and where: calls of executions, boundaries of states, points of functions, deliveries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from oncekit.local.boundaries import Boundary
from oncekit.local.engine import Call
from oncekit.local.events import Delivery
from oncekit.proof.simulation.functions import Point

Proceed = Callable[[], dict[str, Any]]
"""Makes the call, and gives its answer."""


class Injector:
    """Injects nothing: each method is called at its place, and a subclass makes something go wrong there."""

    def at_call(self, call: Call, proceed: Proceed) -> dict[str, Any]:
        return proceed()

    def at_boundary(self, boundary: Boundary) -> None:
        pass

    def at_point(self, point: Point) -> None:
        pass

    def of_delivery(self, delivery: Delivery) -> Sequence[float]:
        return (0.0,)
