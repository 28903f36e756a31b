"""What is explored: a setting, the moves that it is made of, and how an execution begins and calls in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from oncekit.proof.model.machine import At, Machine
from oncekit.proof.model.promises import Promises, text
from oncekit.proof.model.record import Table, parsed
from oncekit.proof.model.services import Call
from oncekit.proof.model.world import RUNNING, Budget, Execution, World, arn_of


class Move(NamedTuple):
    label: str
    fair: bool
    world: World


@dataclass(frozen=True)
class Setting:
    """What is explored: the machines, the requests in the order in which they arrive, and how much goes wrong."""

    operation: Machine
    look: Machine
    recover: Machine
    table: Table
    requests: tuple[str, ...]
    budget: Budget
    workers: int
    """Recoveries at the same time. Without any, the source sends a request again until it is answered."""
    instants: bool
    """Whether there is a moment at which a lease or a record ends, between before and after."""
    promises: Promises
    unreadable: frozenset[str] = frozenset()
    late: frozenset[str] = frozenset()
    """The writes that may come late; none named: all of them."""

    def begun(self, world: World, place: int, name: str, request: int) -> World:
        """A new execution in a place."""
        entered = self.operation.enter(_me(place, name), self.requests[request])
        assert isinstance(entered, At)
        request = self.requests.index(self.requests[request])  # equal requests are the same one
        execution = Execution(name, request, RUNNING, entered.position, entered.variables, False, 0, ())
        return world.put(place, execution)

    def call(self, place: int, execution: Execution) -> Call:
        """The call that an execution makes where it is."""
        given = self.requests[execution.request]
        return Call(self.operation, execution.position, execution.variables, _me(place, execution.name), given)


def is_owner(world: World, place: int) -> bool:
    return world.record is not None and text(parsed(world.record), "owner") == arn_of(place)


def _me(place: int, name: str) -> str:
    """An execution as its machine knows it: whether recovery started it, its name says."""
    return arn_of(place) + (" recover-" if name.startswith("recover-") else "")
