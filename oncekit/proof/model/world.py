"""What there is in the model at one moment, as a value that can be kept in a set.

Executions and functions of one id, the record, the ledger of effects, recoveries that are at work, and what may still
go wrong. An execution that nobody can speak of any more leaves its place to the next one.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
from typing import NamedTuple

from oncekit.local.account import ACCOUNT, REGION
from oncekit.proof.model.record import Record, parsed

PLACES = "ABCD"
RUNNING, SUCCEEDED, DEAD, DEAD_AND_SEEN = "RUNNING", "SUCCEEDED", "DEAD", "DEAD_AND_SEEN"
SUCCESS, FAILURE = "+", "-"
FULL, FAST = "full", "fast"
NONCE = "00000000-0000-4000-8000-000000000000"
"""What the machine's `$uuid()` gives. A second run of an execution is another one here, in a place of its own."""


class Execution(NamedTuple):
    """An execution of the operation machine; the one in place 0 is called A, and so on."""

    name: str
    request: int
    status: str
    """RUNNING, SUCCEEDED, DEAD (not yet seen by recovery), DEAD_AND_SEEN, or the error it ended with."""
    position: str
    variables: str
    waits: bool
    """For the function that it has invoked."""
    fence: int
    """Under which it last started business logic; 0 before."""
    history: tuple[str, ...]
    """What its history tells since it got the lock: the states that it entered, `SUCCESS` for each function, and
    `FAILURE` with the name for each decision of business logic."""
    redriven: bool = False
    """Whether it had ended before: an old description may still say so."""
    lane: str = FULL

    @property
    def dead(self) -> bool:
        return self.status in (DEAD, DEAD_AND_SEEN)


Executions = tuple[Execution | None, ...]
"""By place."""


class Function(NamedTuple):
    """Business logic at work for one attempt; it may outlive its execution."""

    place: int
    event: str
    answers: tuple[str, ...]
    """What its calls were answered so far; as it is deterministic, that says where it is."""


class Worker(NamedTuple):
    """A branch of a run of the recovery machine."""

    machine: str
    position: str
    variables: str
    about: int
    """The place of the dead execution that it looks at; -1 when it recovers the record."""
    sweeps: bool


class Late(NamedTuple):
    """A write whose answer nobody waits for any more, and which is still on its way."""

    place: int
    """Of the execution that sent it; -1 is recovery."""
    position: str
    call: str
    fence: int
    """Under which its execution had started business logic when it was sent."""


class Life(NamedTuple):
    """What has happened since the id was last free."""

    started: bool = False
    """Business logic was; a failure that is tried again starts over."""
    succeeded: bool = False
    decided: bool = False
    """Business logic said how it ends, and an execution has heard it."""
    refused: bool = False
    """A redrive was."""
    leases: int = 0
    """How many have ended: each at a time of its own."""


class Budget(NamedTuple):
    """What may still happen."""

    arrivals: int
    crashes: int = 0
    losses: int = 0
    """Answers that are lost, calls that fail for good, recoveries that vanish."""
    errors: int = 0
    """Of the function: throttled, an error, an answer that is lost while it works on."""
    expiries: int = 0
    late: int = 0
    """Writes that are sent once more while the first send still comes, at any later time."""
    stale: int = 0
    """Descriptions of an execution as it was before its last change."""
    operators: int = 0
    """Operators that redrive a dead owner."""


class World(NamedTuple):
    record: Record
    ledger: int
    executions: Executions
    functions: tuple[Function, ...]
    workers: tuple[Worker, ...]
    names: tuple[str, ...]
    """Of executions that recovery started; a name works once."""
    life: Life
    budget: Budget
    late: tuple[Late, ...] = ()

    def spend(self, what: str) -> World:
        return self._replace(budget=self.budget._replace(**{what: getattr(self.budget, what) - 1}))

    def put(self, place: int, execution: Execution | None) -> World:
        executions = (*self.executions[:place], execution, *self.executions[place + 1 :])
        return self._replace(executions=executions)

    def free_place(self) -> int | None:
        return next((place for place, execution in enumerate(self.executions) if execution is None), None)


@functools.cache
def arn_of(place: int) -> str:
    return f"arn:aws:states:{REGION}:{ACCOUNT}:execution:once-OperationStateMachine:{PLACES[place]}"


@functools.cache
def fast_arn_of(place: int) -> str:
    return f"arn:aws:states:{REGION}:{ACCOUNT}:express:once-FastStateMachine:{PLACES[place]}:0f8e"


@functools.cache
def owner_of(place: int, lane: str) -> str:
    """What the execution in a place calls itself when it writes."""
    return f"{fast_arn_of(place)}:{NONCE}" if lane == FAST else arn_of(place)


def owner_at(world: World, place: int) -> str:
    execution = world.executions[place]
    return owner_of(place, FULL if execution is None else execution.lane)


def is_fast(owner: str) -> bool:
    return ":express:" in owner


@functools.cache
def name_first(arn: str) -> str:
    """What the fast lane calls the execution that it hands a request over to before there is a lock."""
    return "first-" + hashlib.sha256(arn.encode()).hexdigest()[:40]


@functools.cache
def name_again(arn: str) -> str:
    """What the recovery machine calls the second execution of a request whose first died without a record."""
    return "again-" + hashlib.sha256(arn.encode()).hexdigest()[:40]


@functools.cache
def renamed(text: str, order: tuple[int, ...]) -> str:
    """The text with the executions' ARNs, and the names made of them, as they are after moving to other places."""
    marks = {}
    for new, old in enumerate(order):
        for name_of in (arn_of, fast_arn_of, _again_of, _first_of, _short_of, _short_fast_of):
            text = text.replace(name_of(old), mark := f"<{name_of.__name__}{new}>")
            marks[mark] = name_of(new)
    for mark, name in marks.items():
        text = text.replace(mark, name)
    return text


def _again_of(place: int) -> str:
    return name_again(arn_of(place))


def _first_of(place: int) -> str:
    return name_first(fast_arn_of(place))


def _short_of(place: int) -> str:
    """In the names of what is started about its lock."""
    return hashlib.sha256(arn_of(place).encode()).hexdigest()[:8]


def _short_fast_of(place: int) -> str:
    return hashlib.sha256(fast_arn_of(place).encode()).hexdigest()[:8]


def in_order(world: World) -> World:
    """The same world with its executions in an order of their own: which is called A makes no difference."""
    owner = "" if world.record is None else parsed(world.record)["owner"]["S"]
    order, executions = _ordered(world.executions, owner)
    if order == tuple(range(len(PLACES))):
        return world

    def text(value: str) -> str:
        return renamed(value, order)

    place_of = {old: new for new, old in enumerate(order)} | {-1: -1}
    return World(
        None if world.record is None else text(world.record),
        world.ledger,
        executions,
        tuple(sorted(Function(place_of[f.place], text(f.event), tuple(map(text, f.answers))) for f in world.functions)),
        tuple(sorted(w._replace(variables=text(w.variables), about=place_of[w.about]) for w in world.workers)),
        tuple(sorted(map(text, world.names))),
        world.life,
        world.budget,
        tuple(sorted(late._replace(place=place_of[late.place], call=text(late.call)) for late in world.late)),
    )


@functools.lru_cache(50_000)
def _ordered(executions: Executions, owner: str) -> tuple[tuple[int, ...], Executions]:
    """The places that they had before, in their new order, and the executions as they are there."""

    def rank(place: int) -> tuple[object, ...]:
        execution = executions[place]
        if execution is None:
            return (2, "", "", "", 0, 0, "", "", place)
        mine = owner_of(place, execution.lane) != owner
        return (
            mine,
            *execution[2:4],
            execution.name,
            execution.fence,
            execution.waits,
            execution.lane,
            _masked(execution.variables),
            place,
        )

    order = tuple(sorted(range(len(PLACES)), key=rank))

    def moved(execution: Execution | None) -> Execution | None:
        if execution is None:
            return None
        name, variables = renamed(execution.name, order), renamed(execution.variables, order)
        return execution._replace(name=name, variables=variables)

    return order, tuple(moved(executions[old]) for old in order)


@functools.cache
def _masked(variables: str) -> str:
    """Variables without the names of executions."""
    return re.sub(r"once:[A-D]", "once:", variables)


def tidied(world: World) -> World:
    """Without executions that have ended and that neither record, function nor anybody's variables speak of."""
    for place, execution in enumerate(world.executions):
        if execution is None or execution.status in (RUNNING, DEAD):
            continue
        arn = fast_arn_of(place) if execution.lane == FAST else arn_of(place)
        if (
            (world.record is not None and parsed(world.record)["owner"]["S"] == owner_of(place, execution.lane))
            or any(function.place == place for function in world.functions)
            or any(worker.about == place or arn in worker.variables for worker in world.workers)
            or any(late.place == place or arn in late.call for late in world.late)
            or any(
                arn in other.variables
                for number, other in enumerate(world.executions)
                if other is not None and number != place
            )
        ):
            continue
        names = tuple(name for name in world.names if name not in (name_again(arn), name_first(arn)))
        world = world.put(place, None)._replace(names=names)
    return world


def as_json(value: object) -> str:
    return json.dumps(value, sort_keys=True)
