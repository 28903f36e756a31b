"""The injector of a cell: one fault, at the n-th call, boundary or point of a run."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from oncekit.asl.running import Abandoned
from oncekit.contract.lanes import is_direct
from oncekit.local.client_errors import throttled
from oncekit.local.engine.boundaries import Boundary
from oncekit.local.engine.interceptors import Proceed
from oncekit.local.engine.service_calls import Call, Interceptor
from oncekit.promises.owners import is_fast
from oncekit.proof.simulation.fault_kinds import LONG, Faults, label_of_call, lost, refusal, table_throttled
from oncekit.proof.simulation.functions import Died, Point
from oncekit.proof.simulation.world import World

HOURS = 4 * 3600.0
"""Seconds: longer than the retries of the fast lane, and shorter than those of the full one."""

CALL_FAULTS = ("never arrives", "answer lost", "fails thrice", "fails for good", "dies before", "dies after", "slow")
"""A death in any state that makes no call is one after the call before."""
LATE = "arrives late"
"""A write is lost on its way, is sent again, and arrives before some later call or point, or never."""
DOWN = "down for hours"
"""Where a path makes such a call for the first time: all calls of the API fail, whoever makes them."""
FORGETS = "operator forgets"
"""Just before a call, on the paths that name it."""
HANGS = "hangs to its end"
"""Where a state of the fast lane begins: there AWS ends the execution, 300 seconds after its start."""
JOINED = "the other lane"
"""Before a call a duplicate comes by the other lane, and goes as far as it can."""
THROTTLED = "throttled"
"""In the direct lane: the table refuses a call, as often as it is sent again."""
POINT_FAULTS = ("function dies", "connection breaks", "connection broken", "hangs", THROTTLED)
UNTOUCHED = (
    *("BeginShard", "FindOverdue", "RecoverOperations", "IsThereTime", "LeftForLater", "IsShardSwept", "ShardSwept"),
    *("IsTimeToCount", "CountShard", "NotCounted", "CountOpen", "CountRejected", "AreAllCounted"),
    *("PublishMetrics", "WasEverythingDone", "RecoveryDone"),
)
"""States of a sweep that look at all there is, or write nothing that anybody reads."""


class OneFault(Faults):
    """Makes one thing go wrong, or nothing; and takes down what happens."""

    def __init__(
        self,
        world: World,
        kind: str = "",
        number: int = 0,
        fault: str = "",
        *,
        arrives: float = math.inf,
        act: Callable[[], None] = lambda: None,
    ) -> None:
        """`arrives` is the later call or point before which a late call comes, from 0; `act` is done at a call."""
        super().__init__(world)
        self._place, self.fault, self._arrives, self._act = (kind, number), fault, arrives, act
        self.seen: dict[str, list[str]] = {"call": [], "boundary": [], "point": []}
        """The labels of all places of a kind."""
        self._has_struck = False
        self.later = 0
        """Calls and points after the fault."""
        self._broken: tuple[str, str, str] | None = None
        """The call of an execution, or the point of an owner, that goes on failing."""
        self._throttled: tuple[str, str, str] | None = None
        """The point of an invocation that the table goes on refusing; work elsewhere is tried again later."""
        self._attempt, self._refusals = -1, math.inf

    @property
    def down_until(self) -> float:
        return max(self._down.values(), default=0.0)

    def _strikes(self, kind: str, label: str) -> bool:
        place = (kind, len(self.seen[kind]))
        self.seen[kind].append(label)
        self._has_struck |= place == self._place
        return place == self._place

    def _go_on(self) -> None:
        """To a later call or point; what was held until then comes before it."""
        if self._has_struck:
            for let_in in self.due(self.later):
                let_in()
            self.later += 1

    # ---- calls ----

    def at_call(self, call: Call, proceed: Proceed) -> dict[str, Any]:
        if self._strikes("call", label_of_call(call)):
            return self._strike(call, proceed)
        if call.state not in UNTOUCHED:
            self._go_on()
        self._refuse_if_down(call)
        if self._broken == _key(call):
            self._fail_again(call)
        return proceed()

    def _strike(self, call: Call, proceed: Proceed) -> dict[str, Any]:
        match self.fault:
            case "arrives late":
                self._hold(self._arrives, proceed)
            case "down for hours":
                self._take_down(call.action, HOURS)
                raise refusal(call)
            case "fails thrice" | "fails for good":
                self._broken, self._refusals = _key(call), 3 if self.fault == "fails thrice" else math.inf
                self._fail_again(call)
            case "dies before":
                self._world.stop(call.execution_arn)
                raise Abandoned
        self._act()
        return self._struck(self.fault, call, proceed)

    def _fail_again(self, call: Call) -> None:
        """Until there were enough refusals, or the state is entered once more."""
        if call.attempt <= self._attempt or not self._refusals:
            self._broken = None
            return
        self._attempt = call.attempt
        self._refusals -= 1
        raise refusal(call)

    # ---- boundaries and points ----

    def at_boundary(self, boundary: Boundary) -> None:
        if boundary.place == "enter" and self._strikes("boundary", f"enter {boundary.state}"):
            self._world.scheduler.sleep(LONG)
            if is_fast(boundary.execution_arn):
                raise Abandoned

    def at_point(self, point: Point) -> None:
        fault = self.fault if self._strikes("point", _label_of_point(point)) else ""
        key = (point.owner, point.place, point.action)
        if fault == LATE and point.send is not None:
            self._hold(self._arrives, point.send)
        if point.place in ("before", "end"):
            self._go_on()
        if fault:
            self._act()
        if fault == THROTTLED and is_direct(point.owner):
            self._throttled = key
        if fault == THROTTLED or self._throttled == key:
            raise table_throttled(point.action)
        if fault == DOWN:
            self._take_down(point.action, HOURS)
        if point.place == "before":
            self._refuse_if_down(point)
        if fault == "connection broken":
            self._broken = key
        if fault == "function dies":
            raise Died
        if fault == "hangs":
            self._world.scheduler.sleep(LONG)
        if fault == "connection breaks" or self._broken == key:
            raise lost()


def _key(call: Call) -> tuple[str, str, str]:
    return call.execution_arn, call.state, call.action


def _label_of_point(point: Point) -> str:
    return f"{point.function.rpartition('-')[2]} {point.place} {point.action}".strip()


# ---- what stands behind the fault, on some paths ----


def killing(world: World, state: str) -> Interceptor:
    """The first execution is killed just before its call in a state."""
    killed: list[str] = []

    def kill(call: Call, proceed: Proceed) -> dict[str, Any]:
        if call.state == state and not killed:
            killed.append(call.execution_arn)
            world.stop(call.execution_arn)
            raise Abandoned
        return proceed()

    return kill


def throttling(world: World, seconds: float) -> Interceptor:
    """For a while no business function is to be had."""
    until = world.scheduler.now() + seconds

    def throttle(call: Call, proceed: Proceed) -> dict[str, Any]:
        if call.state == "ExecuteBusinessLogic" and world.scheduler.now() < until:
            raise throttled()
        return proceed()

    return throttle
