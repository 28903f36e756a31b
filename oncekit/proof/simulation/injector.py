"""What can happen in a run, and where: calls of executions, boundaries of states, points of functions, deliveries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

from oncekit.local.boundaries import Boundary
from oncekit.local.engine import Call
from oncekit.local.events import Delivery
from oncekit.proof.simulation.functions import Point

Proceed = Callable[[], dict[str, Any]]
"""Makes the call, and gives its answer."""


class Injector:
    """Injects nothing: each method is called at its place, and goes on to the injector behind, if there is one.

    A subclass makes something go wrong there.
    """

    under: Injector | None = None

    def over(self, under: Injector) -> Self:
        """Puts it in front of another injector."""
        self.under = under
        return self

    def at_call(self, call: Call, proceed: Proceed) -> dict[str, Any]:
        return self.under.at_call(call, proceed) if self.under else proceed()

    def at_boundary(self, boundary: Boundary) -> None:
        if self.under:
            self.under.at_boundary(boundary)

    def at_point(self, point: Point) -> None:
        if self.under:
            self.under.at_point(point)

    def of_delivery(self, delivery: Delivery) -> Sequence[float]:
        return self.under.of_delivery(delivery) if self.under else (0.0,)
