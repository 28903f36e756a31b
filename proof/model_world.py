"""What there is in the model at one moment, as a value that can be kept in a set.

Executions and functions of one id, the record, the ledger of effects, recoveries that are at work, and what may still
go wrong. An execution that nobody can speak of any more leaves its place to the next one.
"""

from __future__ import annotations

import hashlib
import json
from typing import NamedTuple

from proof.model_record import Record, parsed

PLACES = "ABC"
RUNNING, SUCCEEDED, DEAD, DEAD_AND_SEEN = "RUNNING", "SUCCEEDED", "DEAD", "DEAD_AND_SEEN"


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
    successes: tuple[tuple[str, tuple[str, ...]], ...]
    """Functions that succeeded in it: the state, and the states that were entered next."""

    @property
    def dead(self) -> bool:
        return self.status in (DEAD, DEAD_AND_SEEN)


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


class Life(NamedTuple):
    """What has happened since the id was last free."""

    started: tuple[tuple[int, int], ...] = ()
    """Starts of business logic: place and fence."""
    succeeded: bool = False


class Budget(NamedTuple):
    """What may still happen."""

    arrivals: int
    crashes: int
    losses: int
    """Answers that are lost, calls that fail for good, recoveries that vanish."""
    errors: int
    """Of the function: throttled, an error, an answer that is lost while it works on."""
    expiries: int


class World(NamedTuple):
    record: Record
    ledger: int
    executions: tuple[Execution | None, ...]
    functions: tuple[Function, ...]
    workers: tuple[Worker, ...]
    names: tuple[str, ...]
    """Of executions that recovery started; a name works once."""
    life: Life
    budget: Budget

    def spend(self, what: str) -> World:
        return self._replace(budget=self.budget._replace(**{what: getattr(self.budget, what) - 1}))

    def put(self, place: int, execution: Execution | None) -> World:
        executions = (*self.executions[:place], execution, *self.executions[place + 1 :])
        return self._replace(executions=executions)

    def free_place(self) -> int | None:
        return next((place for place, execution in enumerate(self.executions) if execution is None), None)


def arn_of(place: int, *, express: bool) -> str:
    kind = "express" if express else "execution"
    return f"arn:aws:states:us-east-1:123456789012:{kind}:once:{PLACES[place]}"


def name_again(arn: str) -> str:
    """What the recovery machine calls the second execution of a request whose first died without a record."""
    return "again-" + hashlib.sha256(arn.encode()).hexdigest()[:40]


def tidied(world: World, *, express: bool) -> World:
    """Without executions that have ended and that neither record, function nor anybody's variables speak of."""
    for place, execution in enumerate(world.executions):
        if execution is None or execution.status in (RUNNING, DEAD):
            continue
        arn = arn_of(place, express=express)
        if (
            (world.record is not None and parsed(world.record)["owner"]["S"] == arn)
            or any(function.place == place for function in world.functions)
            or any(worker.about == place or arn in worker.variables for worker in world.workers)
            or any(
                arn in other.variables
                for number, other in enumerate(world.executions)
                if other is not None and number != place
            )
        ):
            continue
        names = tuple(name for name in world.names if name != name_again(arn))
        started = tuple(start for start in world.life.started if start[0] != place)
        if world.record is not None and len(started) < len(world.life.started):
            started = tuple(sorted((*started, *((-1, fence) for at, fence in world.life.started if at == place))))
        world = world.put(place, None)._replace(names=names, life=world.life._replace(started=started))
    return world


def as_json(value: object) -> str:
    return json.dumps(value, sort_keys=True)
