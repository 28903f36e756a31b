"""The injector of a schedule: what its plan says goes wrong, at the step where it can, and who goes on when."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from oncekit.asl.running import Abandoned
from oncekit.contract.lanes import is_direct
from oncekit.local.client_errors import throttled
from oncekit.local.engine.boundaries import Boundary
from oncekit.local.engine.interceptors import Proceed
from oncekit.local.engine.service_calls import Call
from oncekit.proof.simulation.fault_kinds import (
    LONG,
    OF_TABLE,
    WRITES,
    Faults,
    label_of_call,
    lost,
    refusal,
    table_throttled,
)
from oncekit.proof.simulation.functions import Died, Point
from oncekit.proof.simulation.plans import Plan
from oncekit.proof.simulation.scheduler import Task, oldest
from oncekit.proof.simulation.world import World


class PlannedFaults(Faults):
    """Injects what a plan says."""

    def __init__(self, world: World, plan: Plan) -> None:
        super().__init__(world)
        self._plan = plan
        self._steps = self._choices = 0
        self._due: list[str] = []
        """Faults that wait for a step where they are possible."""

    def choose(self, ready: list[Task], current: Task | None) -> Task:
        """Whoever runs goes on, unless the plan has another one go on here."""
        other = self._plan.switches.get(self._choices)
        self._choices += 1
        return oldest(ready, current) if other is None else ready[other % len(ready)]

    def _step(self, what: str, possible: Callable[[str], bool]) -> str:
        """Let others go on; what goes wrong here, if anything."""
        self._world.scheduler.wait()
        if (drawn := self._plan.faults.get(self._steps)) is not None:
            self._due.append(drawn)
        fault = next(filter(possible, self._due), "")
        if fault:
            self._due.remove(fault)
        self._world.note(f"{what}{f'   <- {fault}' if fault else ''}")
        self._steps += 1
        self.arrive(self._steps)
        return fault

    def arrive(self, *step: int) -> None:
        """What was held until this step arrives now, as a task of its own; without a step all of it."""
        for let_in in self.due(*step):
            self._world.scheduler.spawn(let_in, "held call")

    def end_of_silence(self) -> None:
        """DescribeExecution answers again. Until then nobody may end an operation: its owner counts as alive."""
        if self._down.pop("describe_execution", 0.0) > self._world.scheduler.now():
            self._world.note("DescribeExecution answers again")

    def at_call(self, call: Call, proceed: Proceed) -> dict[str, Any]:
        who = call.execution_arn.rpartition(":")[2]
        fault = self._step(f"{who} {label_of_call(call)}", partial(is_possible, call))
        if fault.startswith(("down ", "unasked ")):
            self._take_down(call.action, float(fault.partition(" ")[2]))
        self._refuse_if_down(call)
        self._hold_if_planned(fault, proceed)
        match fault:
            case "fails":
                raise refusal(call)
            case "throttled":
                raise throttled()
            case "late":
                self._world.scheduler.spawn(partial(self._let_in, proceed, LONG), "late call")
                self._world.scheduler.sleep(10)
                raise TimeoutError
            case "dies before":
                self._world.stop(call.execution_arn)  # its call is on the way
        return self._struck(fault, call, proceed)

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
        if is_direct(point.owner) and point.place == "before":
            self._refuse_if_down(point)
        if fault == "throttled":
            raise table_throttled(point.action)
        if fault in ("slow", "late"):
            self._world.scheduler.sleep(LONG)
        if point.send is not None:
            self._hold_if_planned(fault, point.send)
        if fault in ("answer lost", "never arrives", "fails"):
            raise lost()

    def _hold_if_planned(self, fault: str, sending: Callable[[], object]) -> None:
        if fault.startswith("held "):
            self._hold(self._steps + 1 + int(fault.removeprefix("held ")), sending)


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
    if kind == "throttled":
        return is_direct(point.owner) and point.place == "before" and point.action in OF_TABLE
    return kind not in ("down", "unasked") and (kind in ("dies", "slow", "late") or bool(point.action))
