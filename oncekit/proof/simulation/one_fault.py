"""What can go wrong, one thing at a time: at a call, at the boundary of a state, at a point of a function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from botocore.exceptions import ClientError, ConnectionClosedError

from oncekit.local.boundaries import Boundary
from oncekit.local.client_errors import throttled
from oncekit.local.engine import Call
from oncekit.local.engine.history import Abandoned
from oncekit.local.events import Delivery
from oncekit.promises.owners import is_fast
from oncekit.proof.simulation.functions import Died, Point
from oncekit.proof.simulation.injector import Injector, Proceed
from oncekit.proof.simulation.world import World

LONG = 700.0
"""Seconds: longer than any lease here."""
HOURS = 4 * 3600.0
"""Seconds: longer than the retries of the fast lane, and shorter than those of the full one."""

CALL_FAULTS = ("never arrives", "answer lost", "fails thrice", "fails for good", "dies before", "dies after", "slow")
"""A death in any state that makes no call is one after the call before."""
DOWN = "down for hours"
"""Where a path makes such a call for the first time: all calls of the API fail, whoever makes them."""
OPERATOR_FAULTS = ("operator retries", "operator retries by the sweep", "operator resolves", "operator releases")
"""Just before a call, on paths with something for an operator to do."""
HANGS = "hangs to its end"
"""Where a state of the fast lane begins: there AWS ends the execution, 300 seconds after its start."""
JOINED = "the other lane"
"""Before a call a duplicate comes by the other lane, and goes as far as it can."""
POINT_FAULTS = ("function dies", "connection breaks", "connection broken", "hangs")
CODES = {
    "dynamodb": "InternalServerError",
    "lambda": "ServiceException",
    "s3": "InternalError",
    "sqs": "InternalError",
    "stepfunctions": "ThrottlingException",
    "cloudwatch": "InternalFailure",
}


class Recording(Injector):
    """What happens is taken down."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.boundaries: list[str] = []
        self.points: list[str] = []

    def at_call(self, call: Call, proceed: Proceed) -> dict[str, Any]:
        self.calls.append(label_of_call(call))
        return super().at_call(call, proceed)

    def at_boundary(self, boundary: Boundary) -> None:
        if boundary.place == "enter":
            self.boundaries.append(f"enter {boundary.state}")
        super().at_boundary(boundary)

    def at_point(self, point: Point) -> None:
        self.points.append(label_of_point(point))
        super().at_point(point)


def label_of_call(call: Call) -> str:
    return f"{call.state} {call.action}"


def label_of_point(point: Point) -> str:
    return f"{point.function.rpartition('-')[2]} {point.place} {point.action}".strip()


class Killing(Injector):
    """The first execution is killed just before its call in a state."""

    def __init__(self, world: World, state: str) -> None:
        self._world, self._state = world, state
        self._struck = False

    def at_call(self, call: Call, proceed: Proceed) -> dict[str, Any]:
        if call.state == self._state and not self._struck:
            self._struck = True
            self._world.stop(call.execution_arn)
            raise Abandoned
        return proceed()


class Throttling(Injector):
    """For a while no business function is to be had."""

    def __init__(self, world: World, seconds: float) -> None:
        self._world, self._until = world, world.scheduler.now() + seconds

    def at_call(self, call: Call, proceed: Proceed) -> dict[str, Any]:
        if call.state == "ExecuteBusinessLogic" and self._world.scheduler.now() < self._until:
            raise throttled()
        return proceed()


class Striking(Injector):
    """One fault, at the n-th call, boundary or point (from 0) of a run."""

    def __init__(self, world: World, place: str, n: int, fault: str) -> None:
        self._world, self._place, self._n, self.fault = world, place, n, fault
        self._seen = {"call": 0, "boundary": 0, "point": 0}
        self._again: tuple[str, str, str] | None = None
        self._last_attempt = -1
        self._times = 0
        self.struck_at: float | None = None
        self.act: Callable[[], None] = lambda: None
        """What an operator does, or somebody who sends a duplicate, if that is the fault."""
        self.down_until = 0.0
        self._sweeps = 0
        self._down_action = ""

    def _strikes(self, place: str) -> bool:
        number = self._seen[place]
        self._seen[place] += 1
        if (place, number) != (self._place, self._n):
            return False
        self.struck_at = self._world.scheduler.now()
        return True

    def of_delivery(self, delivery: Delivery) -> Sequence[float]:
        if delivery.kind == "schedule" and self._is_down():
            self._sweeps += 1
            if self._sweeps % 60:  # one an hour, for they come to nothing
                return ()
        return super().of_delivery(delivery)

    # ---- calls ----

    def at_call(self, call: Call, proceed: Proceed) -> dict[str, Any]:
        go_on = partial(super().at_call, call, proceed)
        if self._strikes("call"):
            return self._strike(call, go_on)
        if self._is_down() and call.action == self._down_action:
            raise refusal(call)
        if self._again == (call.execution_arn, call.state, call.action):
            return self._fail_again(call, go_on)
        return go_on()

    def _strike(self, call: Call, proceed: Proceed) -> dict[str, Any]:
        if self.fault == JOINED or self.fault in OPERATOR_FAULTS:
            self.act()
            return proceed()
        if self.fault == DOWN:
            self.down_until, self._down_action = self._world.scheduler.now() + HOURS, call.action
            raise refusal(call)
        if self.fault.startswith("fails"):
            self._again = (call.execution_arn, call.state, call.action)
            return self._fail_again(call, proceed)
        if self.fault == "dies before":
            self._world.stop(call.execution_arn)
            raise Abandoned
        return struck(self._world, self.fault, call, proceed)

    def _is_down(self) -> bool:
        return self._world.scheduler.now() < self.down_until

    def _fail_again(self, call: Call, proceed: Proceed) -> dict[str, Any]:
        healed = call.attempt <= self._last_attempt or (self.fault == "fails thrice" and self._times == 3)
        if healed:
            self._again = None
            return proceed()
        self._last_attempt = call.attempt
        self._times += 1
        raise refusal(call)

    # ---- boundaries and points ----

    def at_boundary(self, boundary: Boundary) -> None:
        if boundary.place == "enter" and self._strikes("boundary"):
            self._world.scheduler.sleep(LONG)
            if is_fast(boundary.execution_arn):
                raise Abandoned

    def at_point(self, point: Point) -> None:
        key = (point.owner, point.place, point.action)
        struck = self._strikes("point")
        if struck and self.fault == "connection broken":
            self._again = key
        if struck and self.fault == "function dies":
            raise Died
        if struck and self.fault == "hangs":
            self._world.scheduler.sleep(LONG)
        broken = (struck and self.fault == "connection breaks") or self._again == key
        if broken and point.action:  # a function at its beginning or end has no connection that could break
            raise ConnectionClosedError(endpoint_url=point.function)


def struck(world: World, fault: str, call: Call, proceed: Proceed) -> dict[str, Any]:
    """A call that never arrives or is slow, or whose answer is lost, or whose execution dies after it."""
    if fault == "slow":
        world.scheduler.sleep(LONG)
    if fault == "never arrives":
        raise ConnectionClosedError(endpoint_url=call.service)
    try:
        answer = proceed()
    finally:
        if fault == "dies after":
            world.stop(call.execution_arn)
    if fault == "answer lost":
        raise ConnectionClosedError(endpoint_url=call.service)
    return answer


def refusal(call: Call) -> ClientError:
    code = CODES.get(call.service, "InternalFailure")
    metadata: Any = {"HTTPStatusCode": 500, "RequestId": "local"}
    return ClientError(
        {"Error": {"Code": code, "Message": "as the proof says"}, "ResponseMetadata": metadata}, call.action
    )
