"""What there is in the model at one moment, as a value that can be kept in a set.

Executions and functions of one id, the record, the ledger of effects, sweeps that are at work, and what may still go
wrong. An execution that has ended and that nobody can speak of any more is forgotten.
"""

from __future__ import annotations

import functools
import hashlib
import uuid
from typing import NamedTuple

from oncekit.asl.history import iso
from oncekit.local.account import ACCOUNT, REGION
from oncekit.proof.model.machine import NOW
from oncekit.proof.model.record import Record, parsed, text

FULL, FAST, DIRECT = "full", "fast", "direct"
NEW, OLD = iso(NOW), iso(NOW - 20)
"""When an execution started: after the last failure was recorded, or before."""
FAILED_AT = iso(NOW - 10)
_STANDARD = f"arn:aws:states:{REGION}:{ACCOUNT}:execution:once-OperationStateMachine:"
_EXPRESS = f"arn:aws:states:{REGION}:{ACCOUNT}:express:once-FastStateMachine:"


class Execution(NamedTuple):
    """One run of an execution of one of the two operation machines."""

    name: str
    run: int
    """A second run of an Express execution is 1."""
    lane: str
    given: str
    """Its input."""
    start: str
    is_running: bool
    position: str
    variables: str
    waits: bool = False
    """For the function that it has invoked."""
    fence: int = 0
    """Under which it last started business logic."""
    saw: bool = False
    """It has held the lock, or read that another of its payload does."""
    knows: tuple[int, int] | None = None
    """Life and fence of the failure that was recorded when its request came."""
    of_try: int = 0
    """It is about to start business logic, and has looked at the record, or taken the lock, in this try."""
    began_in: int = 0
    """The try in which it last started business logic: after TTL, fences begin anew."""
    outrun: bool = False
    """Work elsewhere has ended the operation between that look and the start of business logic."""
    is_late: bool = False
    """In the direct lane: its sandbox stands still, or has stood still, for longer than its lease."""

    @property
    def id(self) -> str:
        return _id(self.name, self.lane)

    @property
    def me(self) -> str:
        """As its machine knows it."""
        return f"{self.id} {self.name} {self.start} {self.run}"

    @property
    def owner(self) -> str:
        """What it calls itself when it writes."""
        return _owner(self.name, self.lane, self.run)

    @property
    def is_recovery(self) -> bool:
        return self.name.startswith("recover-")

    @property
    def is_handed_over(self) -> bool:
        return self.name.startswith(("first-", "refused-"))


@functools.cache
def _id(name: str, lane: str) -> str:
    if lane == DIRECT:
        return f"{DIRECT}:charge:{name}"
    return f"{_EXPRESS}{name}:{name}" if lane == FAST else f"{_STANDARD}{name}"


@functools.cache
def _owner(name: str, lane: str, run: int) -> str:
    id, nonce = _id(name, lane), uuid.UUID(int=run, version=4)
    return {FULL: id, FAST: f"{id}:{nonce}", DIRECT: f"{id}:{nonce.hex}"}[lane]


@functools.cache
def hash_of(id: str) -> str:
    """Of an execution in the fast lane; in the names of what it starts in the full lane."""
    return hashlib.sha256(id.encode()).hexdigest()[:40]


class Function(NamedTuple):
    """Business logic at work for one attempt; it may outlive its execution."""

    owner: str
    fence: int
    event: str
    of_try: int
    """See World.tries."""


class Sweep(NamedTuple):
    """The branch of a sweep that looks at the record."""

    position: str
    variables: str
    in_other_bucket: bool
    """Its five minutes are not those of the recovery that is at work."""


class Late(NamedTuple):
    """A write whose answer nobody waits for any more, and which is still on its way."""

    owner: str
    position: str
    call: str
    fence: int
    """Under which its execution had started business logic when it was sent."""
    knows: tuple[int, int] | None
    """Its execution's."""


class Budget(NamedTuple):
    """What may still go wrong, and be done by operators."""

    crashes: int = 0
    losses: int = 0
    """Answers that are lost, calls that fail for good."""
    late: int = 0
    """Writes that are sent once more while the first send still comes, at any later time."""
    stale: int = 0
    """Descriptions that say RUNNING of an execution that has ended."""
    errors: int = 0
    """Of the function: throttled, an error, an answer that is lost while it works on."""
    operators: int = 0
    forgets: int = 0
    """Operators who forget a request."""
    expiries: int = 0
    """A record that expires is one, its deletion another."""
    doubles: int = 0
    """Express executions that run twice."""
    buckets: int = 0
    """Sweeps that start a recovery beside another one."""
    objects: int = 0
    """Kept requests that are gone from the bucket."""
    tickets: int = 0
    """Work elsewhere that ends its operation."""
    extends: int = 0
    """Work elsewhere that says that it goes on."""
    hurry: int = 0
    """Executions of the fast lane that have no time for an attempt."""
    freezes: int = 0
    """Sandboxes of the direct lane that stand still, and may wake up."""


class World(NamedTuple):
    budget: Budget
    arrived: int = 0
    record: Record = None
    ledger: int = 0
    executions: tuple[Execution, ...] = ()
    functions: tuple[Function, ...] = ()
    sweeps: tuple[Sweep, ...] = ()
    late: tuple[Late, ...] = ()
    handed: tuple[str, ...] = ()
    """Names of executions that the fast lane started: a name works once."""
    kept: tuple[tuple[str, str], ...] = ()
    """Objects of the bucket: key and text."""
    life: int = 0
    """How often the id was acquired anew."""
    tries: int = 0
    """How often it was acquired, anew or after a failure: each is a try, with a ticket of its own."""
    begun: bool = False
    """Business logic was started since the last decision about it."""
    answer: str | None = None
    """The one of this life."""
    released: bool = False
    """By an operator, and no request came since."""
    owed: bool = False
    """Somebody was told that the request is in progress."""
    elsewhere: tuple[tuple[str, int], ...] = ()
    """Tickets of work that has begun elsewhere, each with its try."""
    again: tuple[tuple[str, str], ...] = ()
    """Name and request of what is sent to the direct lane again: its sender has not heard what came of it."""

    def spend(self, what: str) -> World:
        return self._replace(budget=self.budget._replace(**{what: getattr(self.budget, what) - 1}))

    def put(self, execution: Execution) -> World:
        others = (each for each in self.executions if each.owner != execution.owner)
        return self._replace(executions=tuple(sorted((*others, execution), key=lambda each: each.owner)))

    def execution(self, owner: str) -> Execution | None:
        return next((each for each in self.executions if each.owner == owner), None)

    @property
    def holder(self) -> str:
        return "" if self.record is None else text(parsed(self.record), "owner")


def ended(execution: Execution) -> Execution:
    """Of what is over only its name is of use."""
    return Execution(execution.name, execution.run, execution.lane, "", NEW, False, "", "{}")


def tidied(world: World) -> World:
    """Without executions that have ended and that nobody speaks of."""
    if world.elsewhere and not (world.budget.tickets or world.budget.extends):
        world = world._replace(elsewhere=())
    left = []
    for execution in world.executions:
        owner = execution.owner
        if (
            execution.is_running
            or world.holder == owner
            or any(function.owner == owner for function in world.functions)
            or any(late.owner == owner or execution.id in late.call for late in world.late)
            or any(execution.id in other.variables for other in world.executions if other.owner != owner)
        ):
            left.append(execution)
    if len(left) == len(world.executions):
        return world
    senders = {hash_of(each.id) for each in left if each.lane == FAST and each.is_running}
    handed = tuple(name for name in world.handed if name.split("-")[1] in senders)
    return world._replace(executions=tuple(left), handed=handed)
