"""Everything that can happen next in a world of the model.

A move is fair when it is the system's own doing: a call that works, time that passes, recovery that sweeps. The rest
is bad luck, of which a budget says how much there is. Here is what comes from outside; what executions and functions do
is in executing.py, recovery in recovering.py, and writes that come late are in late_writes.py.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator

from oncekit.proof.model.executing import Executing, is_attached
from oncekit.proof.model.late_writes import aged, late_calls
from oncekit.proof.model.logic import Calls, stage_of
from oncekit.proof.model.machine import NOW, At
from oncekit.proof.model.promises import is_final, text
from oncekit.proof.model.record import moved, parsed, time_of
from oncekit.proof.model.recovering import Recovering
from oncekit.proof.model.services import Services, execution_of
from oncekit.proof.model.setting import Move, Setting, is_owner
from oncekit.proof.model.world import (
    DEAD,
    DEAD_AND_SEEN,
    FAST,
    PLACES,
    RUNNING,
    Function,
    Late,
    Life,
    World,
    arn_of,
    in_order,
    tidied,
)

FINISHING = ("IsResponseLarge", "CacheResponse", "Finalize", "RecordFailure", "KeepRequest", "RecordQuarantine")
"""Where `once redrive` lets a dead owner go on."""


class Rules:
    """The moves of a setting."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        inputs, unreadable = setting.requests, setting.unreadable
        self._services = Services(setting.table, setting.promises, inputs, unreadable, setting.begun)
        self.fingerprint = functools.cache(self._fingerprint)
        self._recovering = Recovering(setting, self._services)
        self._executing = Executing(setting, self._services, self.fingerprint)

    def start(self) -> World:
        return World(None, 0, (None,) * len(PLACES), (), (), (), Life(), self.setting.budget)

    def is_over(self, world: World) -> bool:
        """Nobody is at work and every request has come to an end that is kept."""
        quiet = not any(each and each.status in (RUNNING, DEAD) for each in world.executions) and not world.workers
        return quiet and (world.record is None or is_final(world.record))

    def moves(self, world: World) -> Iterator[Move]:
        """Raises Broken, with the label of the move in its message, when one breaks a promise."""
        for move in self._all(world):
            yield Move(move.label, move.fair, self._canonical(move.world))

    def _canonical(self, world: World) -> World:
        heard = tuple(each for each in world.functions if is_attached(world, each) or self._calls(each))
        if len(heard) < len(world.functions):
            world = world._replace(functions=heard)
        return in_order(tidied(world))

    def _calls(self, function: Function) -> bool:
        return isinstance(stage_of(function.event, function.answers), Calls)

    def _all(self, world: World) -> Iterator[Move]:
        yield from self._arrivals(world)
        yield from self._time(world)
        yield from self._recovering.begins(world)
        yield from late_calls(self._services, world)
        yield from self._operators(world)
        yield from self._executing.goes_on(world)
        yield from self._recovering.goes_on(world)

    # ---- What comes from outside ----

    def _arrivals(self, world: World) -> Iterator[Move]:
        place = world.free_place()
        if place is None:
            return
        if world.budget.arrivals:
            number_ = len(self.setting.requests) - world.budget.arrivals
            yield Move(
                f"request {number_} arrives",
                False,
                self.setting.begun(world, place, "order", number_, self.setting.lane_of(number_)).spend("arrivals"),
            )
        working = any(each and each.status == RUNNING for each in world.executions)
        if not self.setting.workers and not working and world.record is not None and not is_final(world.record):
            owner = execution_of(world, text(parsed(world.record), "owner"))
            # By the full lane: one that comes by the fast lane may leave it to recovery, which is not there.
            again = self.setting.begun(world, place, "order", 0 if owner is None else owner[1].request)
            yield Move("the source sends the request again", True, again)

    def _fingerprint(self, request: int) -> str:
        entered = self.setting.operation.enter(arn_of(0), self.setting.requests[request])
        assert isinstance(entered, At)
        call = json.loads(self.setting.operation.call(entered.position, entered.variables, arn_of(0), "{}"))
        fingerprint: str = call["ExpressionAttributeValues"][":fingerprint"]["S"]
        return fingerprint

    def _time(self, world: World) -> Iterator[Move]:
        """Leases and records come to their end; where there are instants, with a moment that is exactly on it."""
        record, budget = world.record, world.budget
        lease, expiry = time_of(record, "leaseExpiresAt"), time_of(record, "expiresAt")
        if record is not None and lease is not None and lease >= NOW and not self._redrives(world):
            if lease > NOW and self.setting.instants:
                yield Move(
                    "the lease is about to end", True, world._replace(record=moved(record, "leaseExpiresAt", NOW))
                )
            else:
                later = moved(record, "leaseExpiresAt", NOW - 1000 + world.life.leases)
                if time_of(record, "claimedUntil"):
                    later = moved(later, "claimedUntil", NOW - 1000)
                known = _known_as(_outlived(world), lease, NOW - 1000 + world.life.leases)
                life = known.life._replace(leases=world.life.leases + 1)
                yield Move("the lease ends", True, known._replace(record=later, life=life))
        if record is not None and expiry is not None:
            if expiry > NOW and budget.expiries:
                expired = moved(record, "expiresAt", NOW if self.setting.instants else NOW - 1)
                older = tuple(sorted(late._replace(call=aged(late.call)) for late in world.late))
                over = world._replace(record=expired, late=older).spend("expiries")
                yield Move("the record expires", False, over)
            elif expiry == NOW:
                yield Move("the record is over", True, world._replace(record=moved(record, "expiresAt", NOW - 1)))
            elif expiry < NOW:
                yield Move("TTL deletes the record", True, world._replace(record=None))

    def _redrives(self, world: World) -> bool:
        """Whether a redrive is under way that was claimed: its sends and their retries take less time than a lease.

        A redrive that came after its claim had ended could revive an owner that another has looked at and given up.
        """
        return any(each and each.status == RUNNING and each.position == "RedriveOwner" for each in world.executions)

    # ---- Operators ----

    def _operators(self, world: World) -> Iterator[Move]:
        """`once redrive`: a new lease for the dead owner, and off it goes."""
        record = world.record
        if not world.budget.operators or record is None or is_final(record):
            return
        for place, execution in enumerate(world.executions):
            if execution is None or execution.lane == FAST:
                continue
            if execution.dead and is_owner(world, place) and execution.position in FINISHING:
                revived = world.put(place, execution._replace(status=RUNNING, redriven=True)).spend("operators")
                leased = moved(moved(record, "leaseExpiresAt", NOW + 1), "claimedUntil", NOW + 1)
                old = time_of(record, "leaseExpiresAt") or 0
                if old > NOW:  # a claim that is overridden: no later lease is the same
                    revived = _known_as(revived, old, NOW - 5000)
                yield Move(f"an operator redrives {PLACES[place]}", False, revived._replace(record=leased))


def _outlived(world: World) -> World:
    """A lease of the fast lane ends after its owner, and after each function that the owner has started."""
    assert world.record is not None
    found = execution_of(world, text(parsed(world.record), "owner"))
    if found is None or found[1].lane != FAST:
        return world
    place, execution = found
    functions = tuple(each for each in world.functions if each.place != place)
    life = world.life._replace(succeeded=False, decided=False)
    status = DEAD_AND_SEEN if execution.status == RUNNING else execution.status
    return world.put(place, execution._replace(status=status, waits=False))._replace(functions=functions, life=life)


def _known_as(world: World, lease: int, now: int) -> World:
    """Whoever remembers this lease remembers it as what it is now: every lease has an end of its own."""

    def text(known: str) -> str:
        known = known.replace(f'"leaseExpiresAt": {{"N": "{lease}"}}', f'"leaseExpiresAt": {{"N": "{now}"}}')
        return known.replace(f'"lease": "{lease}"', f'"lease": "{now}"')

    def sent(late: Late) -> Late:
        if late.position != "RecordQuarantine":
            return late
        call = late.call.replace(f'":lease": {{"N": "{lease}"}}', f'":lease": {{"N": "{now}"}}')
        return late._replace(call=call)

    executions = tuple(each and each._replace(variables=text(each.variables)) for each in world.executions)
    return world._replace(executions=executions, late=tuple(sorted(map(sent, world.late))))
