"""The injector of a schedule: what its plan says goes wrong, at the step where it can, and who goes on when."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from botocore.exceptions import ConnectionClosedError

from oncekit.local.boundaries import Boundary
from oncekit.local.client_errors import throttled
from oncekit.local.engine import Call
from oncekit.local.engine.history import Abandoned
from oncekit.local.engine.runs import TimedOut
from oncekit.local.events import Delivery
from oncekit.proof.simulation.functions import Died, Point
from oncekit.proof.simulation.injector import Injector, Proceed
from oncekit.proof.simulation.late import WRITES
from oncekit.proof.simulation.one_fault import LONG, label_of_call, refusal, struck
from oncekit.proof.simulation.plans import Plan
from oncekit.proof.simulation.scheduler import Task
from oncekit.proof.simulation.world import World


class PlannedFaults(Injector):
    """Injects what a plan says."""

    def __init__(self, world: World, plan: Plan) -> None:
        self._world, self._plan = world, plan
        self._steps = 0
        self._choices = 0
        self._held: list[tuple[int, Callable[[], object]]] = []
        self._down: dict[str, float] = {}
        self._sweeps = 0
        self._due: list[str] = []

    def choose(self, ready: list[Task], current: Task | None) -> Task:
        """Whoever runs goes on, unless the plan has another one go on here."""
        number = self._choices
        self._choices += 1
        if (other := self._plan.switches.get(number)) is not None:
            return ready[other % len(ready)]
        return current if current is not None and current in ready else ready[0]

    def _step(self, what: str, possible: Callable[[str], bool]) -> str | None:
        """Let others go on; what goes wrong here, if anything: a fault waits for a step where it is possible."""
        self._world.scheduler.wait()
        if (drawn := self._plan.faults.get(self._steps)) is not None:
            self._due.append(drawn)
        fault = next(filter(possible, self._due), None)
        if fault is not None:
            self._due.remove(fault)
        self._world.note(f"{what}{f'   <- {fault}' if fault else ''}")
        self._steps += 1
        self.arrive(self._steps)
        return fault

    def arrive(self, step: float = math.inf) -> None:
        """What was held until this step arrives now, as a task of its own."""
        due = [sending for until, sending in self._held if until < step]
        self._held = [each for each in self._held if each[0] >= step]
        for sending in due:
            self._world.scheduler.spawn(partial(self._let_in, sending), "held call")

    def _let_in(self, sending: Callable[[], object], seconds: float = 0.0) -> None:
        if seconds:
            self._world.scheduler.sleep(seconds)
        self._world.note("a held call arrives")
        with suppress(Exception, Abandoned, TimedOut):
            sending()

    def end_of_silence(self) -> None:
        """DescribeExecution answers again. Until then nobody may end an operation: its owner counts as alive."""
        if self._down.pop("describe_execution", 0.0) > self._world.scheduler.now():
            self._world.note("DescribeExecution answers again")

    def _hold(self, fault: str, sending: Callable[[], object]) -> None:
        self._held.append((self._steps + int(fault.removeprefix("held ")), sending))
        raise ConnectionClosedError(endpoint_url="the proof")

    def at_call(self, call: Call, proceed: Proceed) -> dict[str, Any]:
        who = call.execution_arn.rpartition(":")[2]
        fault = self._step(f"{who} {label_of_call(call)}", partial(is_possible, call))
        if fault is not None and fault.startswith(("down ", "unasked ")):
            self._down[call.action] = self._world.scheduler.now() + float(fault.partition(" ")[2])
        if self._world.scheduler.now() < self._down.get(call.action, 0.0):
            raise refusal(call)
        if fault is None:
            return proceed()
        if fault.startswith("held "):
            self._hold(fault, proceed)
        if fault == "late":
            self._world.scheduler.spawn(partial(self._let_in, proceed, LONG), "late call")
            self._world.scheduler.sleep(10)
            raise TimeoutError
        if fault == "fails":
            raise refusal(call)
        if fault == "throttled":
            raise throttled()
        if fault == "dies before":
            self._world.stop(call.execution_arn)  # its call is on the way
        return struck(self._world, fault, call, proceed)

    def at_boundary(self, boundary: Boundary) -> None:
        if boundary.machine.startswith(("OperationStateMachine", "FastStateMachine")):
            who = boundary.execution_arn.rpartition(":")[2]
            if self._step(f"{who} {boundary.place} {boundary.state}", lambda fault: fault.startswith("dies")):
                self._world.stop(boundary.execution_arn)
                raise Abandoned

    def at_point(self, point: Point) -> None:
        what = f"{point.function} under fence {point.fence}: {point.place} {point.action}"
        fault = self._step(what, partial(is_possible_in, point))
        if fault in ("dies before", "dies after"):
            raise Died
        if fault in ("slow", "late"):
            self._world.scheduler.sleep(LONG)
        if fault is not None and point.send is not None and fault.startswith("held "):
            self._hold(fault, point.send)
        if fault in ("answer lost", "never arrives", "fails"):
            raise ConnectionClosedError(endpoint_url=point.function)

    def of_delivery(self, delivery: Delivery) -> Sequence[float]:
        if self._world.scheduler.now() < max(self._down.values(), default=0.0):
            self._sweeps += 1
            if self._sweeps % 30:  # most of them come to nothing
                return ()
        return (0.0,)


def is_possible(call: Call, fault: str) -> bool:
    """Whether a fault can strike a call."""
    kind = fault.partition(" ")[0]
    if kind == "held":
        return call.action in WRITES
    if kind == "unasked":
        return call.action == "describe_execution"
    return (kind != "late" or call.service != "lambda") and (kind != "throttled" or call.service == "lambda")


def is_possible_in(point: Point, fault: str) -> bool:
    """Whether a fault can strike a function at one of its points."""
    kind = fault.partition(" ")[0]
    if kind == "held":
        return point.send is not None and point.action in WRITES
    return kind not in ("throttled", "down", "unasked") and (kind in ("dies", "slow", "late") or bool(point.action))
