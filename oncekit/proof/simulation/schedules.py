"""Schedules: several requests, recovery, operators and faults, in an order drawn by a seed; repeated exactly by it."""

from __future__ import annotations

import hashlib
import math
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any

from botocore.exceptions import ClientError

from oncekit.promises.journal import all_records
from oncekit.proof.simulation.operators import Operators
from oncekit.proof.simulation.planned_faults import PlannedFaults
from oncekit.proof.simulation.plans import Plan, draw
from oncekit.proof.simulation.scheduler import Endless
from oncekit.proof.simulation.world import World, opened

BATCH = 25
PATIENCE = 400
"""Runs that are spent on making a failing schedule smaller."""


@dataclass(frozen=True)
class Outcome:
    """The result of a schedule."""

    plan: Plan
    trace: tuple[str, ...]
    faults: tuple[str, ...]
    statuses: tuple[str, ...]

    @property
    def hash(self) -> str:
        return hashlib.sha256("\n".join(self.trace).encode()).hexdigest()[:16]


def run_plan(world: World, plan: Plan) -> Outcome:
    """Run a plan to its end, let recovery have its time, send everything again, and check."""
    world.begin(plan.seed, plan.background)
    world.injector = planned = PlannedFaults(world, plan)
    operators = Operators(world)
    world.scheduler.choose = planned.choose
    try:
        with world.running():
            for number, sending in enumerate(plan.sendings):
                world.scheduler.spawn(
                    _at(world, sending.at, lambda n=number, s=sending: world.start(s.request, f"r{n}", s.lane)), "send"
                )
            for act in plan.acts:
                world.scheduler.spawn(_at(world, act.at, lambda a=act: operators.act(a, plan)), "operator")
            world.recover()
            planned.arrive()
            planned.end_of_silence()
            world.recover()
            for number, sending in enumerate(plan.sendings):
                world.start(sending.request, f"again{number}", plan.lane_of_duplicate(sending))
            world.recover()
            planned.end_of_silence()
            world.recover()
        faults = [str(each) for each in operators.tolerated(world.faults())]
    except Endless as endless:
        faults = [f"P5 (stuck): {endless}"]
    statuses = tuple(sorted(str(record["status"]) for record in all_records(world.cloud).values()))
    return Outcome(plan, tuple(world.trace), tuple(faults), statuses)


def _at(world: World, seconds: float, act: Any) -> Any:
    def work() -> None:
        world.scheduler.sleep(seconds)
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


def _batch(first: int, end: int) -> tuple[list[Outcome], Counter[str], int]:
    """Those that failed, how the records ended, and how many they were."""
    failed, statuses = [], Counter[str]()
    for seed in range(first, end):
        outcome = run_plan(opened(), draw(seed))
        statuses.update(outcome.statuses)
        if outcome.faults:
            failed.append(outcome)
    return failed, statuses, end - first


def batches(first: int, count: int | None, processes: int = 2) -> Iterator[tuple[list[Outcome], Counter[str], int]]:
    """Schedules from a seed on, some batches at a time; without a count they never end."""
    end = math.inf if count is None else first + count
    with ProcessPoolExecutor(processes, get_context("spawn"), opened) as pool:
        while first < end:
            following = int(min(end, first + 4 * processes * BATCH))
            starts = range(first, following, BATCH)
            yield from pool.map(_batch, starts, [min(at + BATCH, following) for at in starts])
            first = following


def tell(outcome: Outcome) -> list[str]:
    """A failing schedule for people."""
    plan = outcome.plan
    lines = [f"✗ seed {plan.seed}: repeat it with `make proof SEED={plan.seed}`"]
    lines += [f"    {fault}" for fault in outcome.faults]
    lines += [f"  sent at {each.at:g} s: {each.request}" for each in plan.sendings]
    lines += [f"  {act}" for act in plan.acts]
    return [
        *lines,
        f"  {plan.background}, faults {plan.faults}, switches {plan.switches}",
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
