"""Schedules: several requests, recovery, operators and faults, in an order drawn by a seed; repeated exactly by it.

python -m oncekit.proof.simulation.schedules [--seed N] [--schedules N] [--soak]
"""

from __future__ import annotations

import argparse
import hashlib
import math
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from typing import Any

from botocore.exceptions import ClientError, ConnectionClosedError

from oncekit.local.engine import Call
from oncekit.local.engine.history import Abandoned
from oncekit.local.engine.runs import TimedOut
from oncekit.local.events import Delivery
from oncekit.local.lambda_runtime.refusals import throttled
from oncekit.proof.simulation import checker
from oncekit.proof.simulation.fault_weather import ASKING, LONG, label_of_call, refusal
from oncekit.proof.simulation.functions import Died, Point
from oncekit.proof.simulation.late import WRITES
from oncekit.proof.simulation.operators import Operators
from oncekit.proof.simulation.plans import Plan, draw
from oncekit.proof.simulation.scheduler import Endless, Task
from oncekit.proof.simulation.weather import Boundary, Proceed, Weather
from oncekit.proof.simulation.world import World

BATCH = 25
PATIENCE = 400
"""Runs that are spent on making a failing schedule smaller."""


class Storm(Weather):
    """The weather of a plan."""

    def __init__(self, world: World, plan: Plan) -> None:
        self._world, self._plan = world, plan
        self._steps = 0
        self._choices = 0
        self._deliveries = 0
        self._held: list[tuple[int, Callable[[], object]]] = []
        self._down: dict[str, float] = {}
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
        self._world.turns.wait()
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
            self._world.turns.spawn(partial(self._let_in, sending), "held call")

    def _let_in(self, sending: Callable[[], object]) -> None:
        self._world.note("a held call arrives")
        with suppress(Exception, Abandoned, TimedOut):
            sending()

    def end_of_silence(self) -> None:
        """DescribeExecution answers again. Until then nobody may end an operation: its owner counts as alive."""
        if self._down.pop("describe_execution", 0.0) > self._world.turns.now():
            self._world.note("DescribeExecution answers again")

    def _hold(self, fault: str, sending: Callable[[], object]) -> None:
        self._held.append((self._steps + int(fault.removeprefix("held ")), sending))
        raise ConnectionClosedError(endpoint_url="the proof")

    def at_call(self, call: Call, proceed: Proceed) -> dict[str, Any]:
        who = call.execution_arn.rpartition(":")[2]
        fault = self._step(f"{who} {label_of_call(call)}", partial(is_possible, call))
        if fault is not None and fault.startswith(("down ", "unasked ")):
            self._down[call.action] = self._world.turns.now() + float(fault.partition(" ")[2])
        if self._world.turns.now() < self._down.get(call.action, 0.0):
            raise refusal(call)
        if fault is None:
            return proceed()
        if fault.startswith("held "):
            self._hold(fault, proceed)
        if fault == "late":
            return self._late(proceed)
        if fault == "slow":
            self._world.turns.sleep(LONG)
        if fault == "never arrives":
            raise ConnectionClosedError(endpoint_url=call.service)
        if fault == "fails":
            raise refusal(call)
        if fault == "throttled":
            raise throttled()
        if fault == "dies before":
            self._world.stop(call.execution_arn)  # its call is on the way
        answer = proceed()
        if fault == "dies after":
            self._world.stop(call.execution_arn)
        if fault == "answer lost":
            raise ConnectionClosedError(endpoint_url=call.service)
        return answer

    def _late(self, proceed: Proceed) -> dict[str, Any]:
        def arrive() -> None:
            self._world.turns.sleep(LONG)
            self._world.note("a late call arrives")
            with suppress(Exception, Abandoned, TimedOut):
                proceed()

        self._world.turns.spawn(arrive, "late call")
        self._world.turns.sleep(10)
        raise TimeoutError

    def at_boundary(self, boundary: Boundary) -> None:
        if boundary.machine.startswith("OperationStateMachine"):
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
            self._world.turns.sleep(LONG)
        if fault is not None and point.send is not None and fault.startswith("held "):
            self._hold(fault, point.send)
        if fault in ("answer lost", "never arrives", "fails"):
            raise ConnectionClosedError(endpoint_url=point.function)

    def of_delivery(self, delivery: Delivery) -> Sequence[float]:
        fate = None
        if delivery.kind == "rule":
            fate = self._plan.fates.get(self._deliveries)
            self._deliveries += 1
            self._world.note(f"{delivery.name} {fate or 'delivers'}")
        return {None: (0.0,), "lost": (), "twice": (0.0, 0.0), "late": (90.0,)}[fate]


def is_possible(call: Call, fault: str) -> bool:
    """Whether a fault can strike a call."""
    kind = fault.partition(" ")[0]
    if kind == "held":
        return call.action in WRITES
    if kind == "unasked":
        return call.action in ASKING
    return (kind != "late" or call.service != "lambda") and (kind != "throttled" or call.service == "lambda")


def is_possible_in(point: Point, fault: str) -> bool:
    """Whether a fault can strike a function at one of its points."""
    kind = fault.partition(" ")[0]
    if kind == "held":
        return point.send is not None and point.action in WRITES
    return kind not in ("throttled", "down", "unasked") and (kind in ("dies", "slow", "late") or bool(point.action))


@dataclass(frozen=True)
class Outcome:
    """What a schedule came to."""

    plan: Plan
    trace: tuple[str, ...]
    faults: tuple[str, ...]
    statuses: tuple[str, ...]

    @property
    def hash(self) -> str:
        return hashlib.sha256("\n".join(self.trace).encode()).hexdigest()[:16]


def run_plan(world: World, plan: Plan) -> Outcome:
    """Run a plan to its end, let recovery have its time, send everything again, and check."""
    storm = Storm(world, plan)
    world.begin(storm, plan.seed, plan.climate)
    operators = Operators(world)
    world.turns.choose = storm.choose
    try:
        with world.running():
            for number, sending in enumerate(plan.sendings):
                world.turns.spawn(
                    _at(world, sending.at, lambda n=number, s=sending: world.start(s.request, f"r{n}")), "send"
                )
            for act in plan.acts:
                world.turns.spawn(_at(world, act.at, lambda a=act: operators.act(a, plan)), "operator")
            world.recover()
            storm.arrive()
            storm.end_of_silence()
            world.recover()
            for number, sending in enumerate(plan.sendings):
                world.start(sending.request, f"again{number}")
            world.recover()
            storm.end_of_silence()
            world.recover()
        faults = [str(each) for each in operators.tolerated(world.faults())]
    except Endless as endless:
        faults = [f"P5 (stuck): {endless}"]
    statuses = tuple(sorted(str(record["status"]) for record in checker.all_records(world.cloud).values()))
    return Outcome(plan, tuple(world.trace), tuple(faults), statuses)


def _at(world: World, seconds: float, act: Any) -> Any:
    def work() -> None:
        world.turns.sleep(seconds)
        with suppress(ClientError):
            act()

    return work


def shrunk(world: World, failing: Outcome) -> Outcome:
    """The smallest plan found that fails, too."""
    left = PATIENCE
    smaller = True
    while smaller and left > 0:
        smaller = False
        for plan in failing.plan.smaller():
            left -= 1
            outcome = run_plan(world, plan)
            if outcome.faults:
                failing, smaller = outcome, True
                break
            if left <= 0:
                break
    return failing


# ---- many, in processes ----

_world: World | None = None


def _open_world() -> None:
    global _world
    _world = World().__enter__()


def _batch(first: int, count: int) -> tuple[list[Outcome], Counter[str]]:
    """Those that failed, and what the records came to."""
    assert _world is not None
    failed, statuses = [], Counter[str]()
    for seed in range(first, first + count):
        outcome = run_plan(_world, draw(seed))
        statuses.update(outcome.statuses)
        if outcome.faults:
            failed.append(outcome)
    return failed, statuses


def batches(first: int, count: int | None, processes: int = 2) -> Iterator[tuple[list[Outcome], Counter[str], int]]:
    """Schedules from a seed on; without a count they never end."""
    with ProcessPoolExecutor(processes, get_context("spawn"), _open_world) as pool:
        running: dict[Future[tuple[list[Outcome], Counter[str]]], int] = {}
        following, end = first, None if count is None else first + count
        while running or end is None or following < end:
            while len(running) < 2 * processes and (end is None or following < end):
                size = BATCH if end is None else min(BATCH, end - following)
                running[pool.submit(_batch, following, size)] = size
                following += size
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                yield *future.result(), running.pop(future)


def tell(outcome: Outcome) -> list[str]:
    """A failing schedule for people."""
    plan = outcome.plan
    lines = [f"✗ seed {plan.seed}: repeat it with `make proof SEED={plan.seed}`"]
    lines += [f"    {fault}" for fault in outcome.faults]
    lines += [f"  sent at {each.at:g} s: {each.request}" for each in plan.sendings]
    lines += [f"  {act}" for act in plan.acts]
    return [
        *lines,
        f"  {plan.climate}, faults {plan.faults}, switches {plan.switches}, fates {plan.fates}",
        *outcome.trace,
    ]


def repeat(seed: int) -> int:
    """One seed, made smaller when it fails; 1 when it does."""
    with World() as world:
        outcome = run_plan(world, draw(seed))
        smallest = shrunk(world, outcome) if outcome.faults else outcome
    if not outcome.faults:
        print(f"✓ seed {seed}: {len(outcome.trace)} steps, trace {outcome.hash}, {', '.join(outcome.statuses)}")
        return 0
    print("\n".join(tell(smallest)))
    return 1


def run(first: int = 0, count: int | None = 2000, processes: int = 2) -> int:
    """Many seeds; 1 when one fails."""
    began = time.monotonic()
    done, bad, statuses = 0, 0, Counter[str]()
    try:
        for failed, came_to, size in batches(first, count, processes):
            done += size
            statuses += came_to
            for outcome in failed:
                bad += 1
                print(f"✗ seed {outcome.plan.seed}: {'; '.join(outcome.faults)[:300]}", flush=True)
    except KeyboardInterrupt:
        pass
    seconds = time.monotonic() - began
    told = ", ".join(f"{number} {status.lower()}" for status, number in statuses.most_common())
    print(f"schedules: {done} in {seconds:.0f} s, {done / seconds * 60:.0f} a minute; {bad} failed; records: {told}")
    return 1 if bad else 0


def main() -> int:
    """Run schedules."""
    parser = argparse.ArgumentParser(prog="python -m oncekit.proof.simulation.schedules", description=main.__doc__)
    parser.add_argument("--seed", type=int, help="this one alone, made smaller when it fails")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--schedules", type=int, default=2000)
    parser.add_argument("--soak", action="store_true", help="go on until stopped")
    given = parser.parse_args()
    if given.seed is not None:
        return repeat(given.seed)
    return run(given.first, None if given.soak else given.schedules)


if __name__ == "__main__":
    sys.exit(main())
