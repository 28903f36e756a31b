"""What can go wrong, one thing at a time: at a call, at the boundary of a state, at a point of a function."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, NoReturn, Protocol

from botocore.exceptions import ClientError, ConnectionClosedError

from oncekit.local.boundaries import Boundary
from oncekit.local.engine import Call
from oncekit.local.engine.history import Abandoned
from oncekit.local.engine.runs import TimedOut
from oncekit.local.events import Delivery
from oncekit.local.lambda_runtime.refusals import throttled
from oncekit.promises.faults import Fault
from oncekit.promises.owners import is_fast
from oncekit.proof.simulation.functions import Died, Point
from oncekit.proof.simulation.injector import Injector, Proceed
from oncekit.proof.simulation.world import World

LONG = 700.0
"""Seconds: longer than a lease and a recovery period."""
HOURS = 4 * 3600.0
"""Longer than any retry of ours lasts: some 2.5 hours on average."""

CALL_FAULTS = (
    "never arrives",
    "answer lost",
    "fails once",
    "fails thrice",
    "fails for good",
    "dies before",
    "dies after",
    "dies before, event lost",
    "dies after, event lost",
    "slow",
    "late",
)
FIRST_FAULTS = ("down for hours", "down for hours, event lost")
"""Where a path makes such a call for the first time: all calls of the API fail, whoever makes them."""
ASKING_FAULTS = ("refused for ever", "too large for ever")
"""Of calls that ask or revive an owner: they fail from there on in this state, or answer more than 256 KiB about it."""
OPERATOR_FAULTS = ("operator retries", "operator resolves", "operator releases")
"""Just before a call, on paths with something for an operator to do."""
ASKING = ("describe_execution", "get_execution_history", "redrive_execution")
LOOKS = ("DescribeDeadExecution", "ReadItsEnd", "ReadItsHistory")
"""Where recovery looks at executions that died without a record: of those it forgets the ones that ended long ago."""
BOUNDARY_FAULTS = ("dies", "dies, event lost")
HANGS = "hangs to its end"
"""At the boundary of a state in the fast lane: there AWS ends the execution, 300 seconds after its start."""
JOINED = "the other lane"
"""Before a call a duplicate comes by the other lane, and goes as far as it can."""
MISSING = "missing"
"""A request that was in flight is gone when recovery wants to read it."""
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
        self._under = Injector()
        self.calls: list[str] = []
        self.boundaries: list[str] = []
        self.points: list[str] = []

    def over(self, under: Injector) -> Injector:
        """Puts it in front of another injector."""
        self._under = under
        return self

    def at_call(self, call: Call, proceed: Proceed) -> dict[str, Any]:
        self.calls.append(label_of_call(call))
        return self._under.at_call(call, proceed)

    def at_boundary(self, boundary: Boundary) -> None:
        self.boundaries.append(f"{boundary.place} {boundary.state}")
        self._under.at_boundary(boundary)

    def at_point(self, point: Point) -> None:
        self.points.append(label_of_point(point))
        self._under.at_point(point)

    def of_delivery(self, delivery: Delivery) -> Sequence[float]:
        return self._under.of_delivery(delivery)


def label_of_call(call: Call) -> str:
    return f"{call.state} {call.action}"


def label_of_point(point: Point) -> str:
    return f"{point.function.rpartition('-')[2]} {point.place} {point.action}".strip()


class Killing(Injector):
    """The first execution is killed just before its call in a state."""

    def __init__(self, world: World, state: str, lose_events: bool = False) -> None:
        self._world, self._state, self._lose = world, state, lose_events
        self._struck = False

    def at_call(self, call: Call, proceed: Proceed) -> dict[str, Any]:
        if call.state == self._state and not self._struck:
            self._struck = True
            self._world.stop(call.execution_arn)
            raise Abandoned
        return proceed()

    def of_delivery(self, delivery: Delivery) -> Sequence[float]:
        return () if self._lose else (0.0,)


class Throttling(Injector):
    """For a while no business function is to be had."""

    def __init__(self, world: World, seconds: float) -> None:
        self._world, self._until = world, world.scheduler.now() + seconds

    def at_call(self, call: Call, proceed: Proceed) -> dict[str, Any]:
        if call.state == "ExecuteBusinessLogic" and self._world.scheduler.now() < self._until:
            raise throttled()
        return proceed()


class Operator(Protocol):
    """Somebody with the commands."""

    def act_now(self, what: str) -> None: ...

    def tolerated(self, faults: Iterable[Fault]) -> Iterator[Fault]: ...


class Striking(Injector):
    """One fault, at the n-th call, boundary or point (from 0) of a run; `under` is the injector behind it."""

    def __init__(self, world: World, place: str, n: int, fault: str, under: Injector) -> None:
        self._world, self._place, self._n, self._fault, self._under = world, place, n, fault, under
        self._seen = {"call": 0, "boundary": 0, "point": 0}
        self._again: tuple[str, str, str] | None = None
        self._last_attempt = -1
        self._times = 0
        self.struck_at: float | None = None
        self.operators: Operator | None = None
        self.join: Callable[[], str] | None = None
        self.down_until = 0.0
        self._sweeps = 0
        self._down: Callable[[Call], bool] = lambda call: False
        self.blinds_recovery = False
        self.hides_the_dead = False

    def end(self) -> None:
        """Whatever was down answers again."""
        self._down = lambda call: False

    def _strikes(self, place: str) -> bool:
        number = self._seen[place]
        self._seen[place] += 1
        if (place, number) != (self._place, self._n):
            return False
        self.struck_at = self._world.scheduler.now()
        return True

    def of_delivery(self, delivery: Delivery) -> Sequence[float]:
        if delivery.kind == "rule" and self._fault.endswith("event lost"):
            return ()
        if delivery.kind == "schedule" and self._world.scheduler.now() < self.down_until:
            self._sweeps += 1
            # One an hour, for they come to nothing; but all of them where one may find a death that nobody heard of.
            if self._sweeps % 12 and not self._world.saw_death_lately():
                return ()
        return self._under.of_delivery(delivery)

    # ---- calls ----

    def at_call(self, call: Call, proceed: Proceed) -> dict[str, Any]:
        def go_on() -> dict[str, Any]:
            return self._under.at_call(call, proceed)

        if self._strikes("call"):
            return self._strike(call, go_on)
        if self._down(call):
            return self._refuse(call, go_on)
        if self._again == (call.execution_arn, call.state, call.action):
            return self._fail_again(call, go_on)
        return go_on()

    def _strike(self, call: Call, proceed: Proceed) -> dict[str, Any]:
        kind = self._fault.removesuffix(", event lost")
        if kind.startswith("operator "):
            assert self.operators is not None
            self.operators.act_now(kind.removeprefix("operator "))
            return proceed()
        if kind == JOINED:
            assert self.join is not None
            joined = self.join()
            self._world.scheduler.wait(lambda: self._world.journal.has_ended(joined), self._world.scheduler.now() + 5)
            return proceed()
        if kind == MISSING:
            raise refusal(call, "NoSuchKey")
        if kind == "down for hours":
            self.down_until = self._world.scheduler.now() + HOURS
            self._down = lambda each: each.action == call.action and self._world.scheduler.now() < self.down_until
            return self._refuse(call, proceed)
        if kind.endswith("for ever"):
            self.blinds_recovery = kind == "refused for ever" and call.state == "AskOwner"
            self.hides_the_dead = call.state in LOOKS
            self._down = lambda each: _asks_the_same(each, call, kind)
            return self._refuse(call, proceed)
        if kind.startswith("fails"):
            if kind != "fails once":
                self._again = (call.execution_arn, call.state, call.action)
            return self._fail_again(call, proceed)
        if kind == "dies before":
            self._world.stop(call.execution_arn)
            raise Abandoned
        if kind == "late":
            return arrives_late(self._world, proceed)
        if kind == "slow":
            self._world.scheduler.sleep(LONG)
        if kind == "never arrives":
            raise ConnectionClosedError(endpoint_url=call.service)
        try:
            answer = proceed()
        finally:
            if kind == "dies after":
                self._world.stop(call.execution_arn)
        if kind == "answer lost":
            raise ConnectionClosedError(endpoint_url=call.service)
        return answer

    def _refuse(self, call: Call, proceed: Proceed) -> dict[str, Any]:
        if self._fault != "too large for ever":
            raise refusal(call)
        return {**proceed(), "cause": "x" * 300_000}

    def _fail_again(self, call: Call, proceed: Proceed) -> dict[str, Any]:
        healed = call.attempt <= self._last_attempt or (self._fault == "fails thrice" and self._times == 3)
        if healed:
            self._again = None
            return proceed()
        self._last_attempt = call.attempt
        self._times += 1
        raise refusal(call)

    # ---- boundaries and points ----

    def at_boundary(self, boundary: Boundary) -> None:
        if self._strikes("boundary"):
            if self._fault != HANGS:
                self._world.stop(boundary.execution_arn)
                raise Abandoned
            self._world.scheduler.sleep(LONG)
            if is_fast(boundary.execution_arn):
                raise Abandoned

    def at_point(self, point: Point) -> None:
        key = (point.owner, point.place, point.action)
        struck = self._strikes("point")
        if struck and self._fault == "connection broken":
            self._again = key
        if struck and self._fault == "function dies":
            raise Died
        if struck and self._fault == "hangs":
            self._world.scheduler.sleep(LONG)
        broken = (struck and self._fault == "connection breaks") or self._again == key
        if broken and point.action:  # a function at its beginning or end has no connection that could break
            raise ConnectionClosedError(endpoint_url=point.function)


def _asks_the_same(one: Call, other: Call, fault: str) -> bool:
    if fault == "refused for ever":
        return (one.state, one.action) == (other.state, other.action)
    return one.action == other.action and one.parameters["executionArn"] == other.parameters["executionArn"]


def refusal(call: Call, code: str = "") -> ClientError:
    code = code or CODES.get(call.service, "InternalFailure")
    metadata: Any = {"HTTPStatusCode": 500, "RequestId": "local"}
    return ClientError(
        {"Error": {"Code": code, "Message": "as the proof says"}, "ResponseMetadata": metadata}, call.action
    )


def arrives_late(world: World, proceed: Proceed) -> NoReturn:
    """The task times out, and the call is made long after."""

    def arrive() -> None:
        world.scheduler.sleep(LONG)
        world.note("a late call arrives")
        with suppress(Exception, Abandoned, TimedOut):
            proceed()

    world.scheduler.spawn(arrive, "late call")
    world.scheduler.sleep(10)
    raise TimeoutError
