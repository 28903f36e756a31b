"""A call that arrives late: its first sending is lost on the way, is sent again, and arrives before some later call."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from botocore.exceptions import ConnectionClosedError

from oncekit.local.engine import Call
from oncekit.local.engine.history import Abandoned
from oncekit.local.engine.runs import TimedOut
from oncekit.proof.simulation.functions import Point
from oncekit.proof.simulation.injector import Injector, Proceed
from oncekit.proof.simulation.world import World

WRITES = (
    "update_item",
    "put_item",
    "put_object",
    "transact_write_items",
    "start_execution",
    "invoke",
)
"""What changes something when it arrives."""
UNTOUCHED = (
    *("BeginShard", "FindOverdue", "RecoverOperations", "IsShardSwept", "ShardSwept", "CountShard"),
    *("CountOpen", "CountRejected", "AreAllCounted", "PublishMetrics", "WasEverythingDone", "RecoveryDone"),
)
"""States of a sweep that look at all there is, or write nothing that anybody reads."""


class Held(Injector):
    """The n-th call or point (from 0) is lost, and arrives before the k-th after it; never when k is None."""

    def __init__(self, world: World, kind: str, n: int, k: int | None) -> None:
        self._world, self._kind, self._n, self._k = world, kind, n, k
        self._seen = 0
        self._sending: Callable[[], object] | None = None
        self.later = 0
        """Calls and points since then."""
        self.struck_at: float | None = None

    def at_call(self, call: Call, proceed: Proceed) -> dict[str, Any]:
        go_on = partial(super().at_call, call, proceed)
        if self._is_it("call"):
            self._lose(go_on)
        if call.state not in UNTOUCHED:
            self._another()
        return go_on()

    def at_point(self, point: Point) -> None:
        if self._is_it("point") and point.send is not None:
            self._lose(point.send)
        if point.place in ("before", "end"):
            self._another()

    def arrive(self) -> None:
        """It arrives now, if it has not yet."""
        sending, self._sending = self._sending, None
        if sending is not None:
            self._world.note("a late call arrives")
            with suppress(Exception, Abandoned, TimedOut):
                sending()

    def _is_it(self, kind: str) -> bool:
        if kind != self._kind:
            return False
        self._seen += 1
        return self._seen == self._n + 1

    def _lose(self, sending: Callable[[], object]) -> None:
        self._sending = sending
        self.struck_at = self._world.scheduler.now()
        raise ConnectionClosedError(endpoint_url="the proof")

    def _another(self) -> None:
        if self.struck_at is not None:
            if self._k == self.later:
                self.arrive()
            self.later += 1
