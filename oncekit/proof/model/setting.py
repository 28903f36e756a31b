"""What is explored: a setting, the moves that it is made of, and how an execution begins and calls in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from oncekit.proof.model.machine import At, Machine
from oncekit.proof.model.promises import Promises, text
from oncekit.proof.model.record import Table, parsed
from oncekit.proof.model.services import Call
from oncekit.proof.model.world import FAST, FULL, RUNNING, Budget, Execution, World, arn_of, fast_arn_of, owner_at

FINISHES = f"recover-{'0' * 32}-{'0' * 8}-1-1"
"""A name as recovery gives it; which one makes no difference to the execution."""


class Move(NamedTuple):
    label: str
    fair: bool
    world: World


@dataclass(frozen=True)
class Setting:
    """What is explored: the machines, the requests in the order in which they arrive, and how much goes wrong."""

    operation: Machine
    fast: Machine
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
    lanes: tuple[str, ...] = ()
    """Where each request arrives; none named: in the full lane."""
    late: frozenset[str] = frozenset()
    """The writes that may come late; none named: all of them."""

    def lane_of(self, request: int) -> str:
        return self.lanes[request] if self.lanes else FULL

    def machine(self, lane: str) -> Machine:
        return self.fast if lane == FAST else self.operation

    def begun(self, world: World, place: int, name: str, request: int, lane: str = FULL) -> World:
        """A new execution in a place."""
        entered = self.machine(lane).enter(_me(place, name, lane), self.requests[request])
        assert isinstance(entered, At)
        request = self.requests.index(self.requests[request])  # equal requests are the same one
        execution = Execution(name, request, RUNNING, entered.position, entered.variables, False, 0, (), lane=lane)
        return world.put(place, execution)

    def call(self, place: int, execution: Execution) -> Call:
        """The call that an execution makes where it is."""
        given = self.requests[execution.request]
        me = _me(place, execution.name, execution.lane)
        return Call(self.machine(execution.lane), execution.position, execution.variables, me, given)


def is_owner(world: World, place: int) -> bool:
    return world.record is not None and text(parsed(world.record), "owner") == owner_at(world, place)


def _me(place: int, name: str, lane: str) -> str:
    """An execution as its machine knows it: whether it finishes what another began, its name says."""
    arn = fast_arn_of(place) if lane == FAST else arn_of(place)
    return f"{arn} {FINISHES}" if name.startswith(("recover-", "handover-")) else arn
