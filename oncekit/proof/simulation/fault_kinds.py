"""What can go wrong in a run: calls that are held on their way, services that are down, connections that break."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NoReturn

from botocore.exceptions import ClientError, ConnectionClosedError

from oncekit.asl.running import Abandoned, TimedOut
from oncekit.local.client_errors import client_error
from oncekit.local.engine.interceptors import Proceed
from oncekit.local.engine.service_calls import Call
from oncekit.local.events import Delivery
from oncekit.proof.simulation.functions import Point
from oncekit.proof.simulation.world import Injector, World

LONG = 700.0
"""Seconds: longer than any lease here."""
WRITES = ("update_item", "put_item", "put_object", "transact_write_items", "start_execution", "invoke")
"""What changes something when it arrives."""
OF_TABLE = ("get_item", "update_item")
"""What a function of the direct lane sends to the table itself."""
CODES = {
    "dynamodb": "InternalServerError",
    "lambda": "ServiceException",
    "s3": "InternalError",
    "stepfunctions": "ThrottlingException",
}


class Faults(Injector):
    """What the fault of a cell and those of a plan are made of."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._down: dict[str, float] = {}
        """Until when all calls of an action fail."""
        self._sweeps = 0
        self._held: list[tuple[float, Callable[[], object]]] = []

    def of_delivery(self, delivery: Delivery) -> Sequence[float]:
        """While a service is down, one sweep an hour comes: they come to nothing."""
        if self._world.scheduler.now() < max(self._down.values(), default=0.0):
            self._sweeps += 1
            if self._sweeps % 60:
                return ()
        return super().of_delivery(delivery)

    def _struck(self, fault: str, call: Call, proceed: Proceed) -> dict[str, Any]:
        """A call that never arrives or is slow, or whose answer is lost, or whose execution dies after it."""
        if fault == "slow":
            self._world.scheduler.sleep(LONG)
        if fault == "never arrives":
            raise lost()
        try:
            answer = proceed()
        finally:
            if fault == "dies after":
                self._world.stop(call.execution_arn)
        if fault == "answer lost":
            raise lost()
        return answer

    def _take_down(self, action: str, seconds: float) -> None:
        self._down[action] = self._world.scheduler.now() + seconds

    def _refuse_if_down(self, call: Call | Point) -> None:
        if self._world.scheduler.now() < self._down.get(call.action, 0.0):
            raise refusal(call)

    def _hold(self, until: float, sending: Callable[[], object]) -> NoReturn:
        """The call is lost on its way, and comes at a later step: see `due`."""
        self._held.append((until, sending))
        raise lost()

    def due(self, step: float = math.inf) -> list[Callable[[], None]]:
        """What was held until this step, to be let in now."""
        due = [sending for until, sending in self._held if until <= step]
        self._held = [each for each in self._held if each[0] > step]
        return [partial(self._let_in, sending) for sending in due]

    def _let_in(self, sending: Callable[[], object], seconds: float = 0.0) -> None:
        if seconds:
            self._world.scheduler.sleep(seconds)
        self._world.note("a held call arrives")
        with suppress(Exception, Abandoned, TimedOut):
            sending()


def label_of_call(call: Call) -> str:
    return f"{call.state} {call.action}"


def lost() -> ConnectionClosedError:
    """What a caller sees of a connection that breaks."""
    return ConnectionClosedError(endpoint_url="the proof")


def refusal(call: Call | Point) -> ClientError:
    code = CODES.get(call.service, "InternalFailure") if isinstance(call, Call) else "InternalServerError"
    return client_error(code, "as the proof says", call.action, 500)


def table_throttled(action: str) -> ClientError:
    """As the client of a function raises it, which has tried it several times by then."""
    return client_error("ProvisionedThroughputExceededException", "as the proof says", action)
