"""What holds for a whole run, behind whatever fault its injector adds.

calm               nothing
stale              DescribeExecution tells what was true some seconds ago
recovery twice     every run of the recovery machine comes twice, at once and in step
recovery late      every run of it comes twice, the second long after
fast twice         every execution in the fast lane runs twice, at once and in step
fast soon          the second run begins while the first may still be at work
fast late          the second run begins when the first one's lease may be over
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from oncekit.local.engine import Call
from oncekit.local.engine.views import behind
from oncekit.proof.simulation.injector import Proceed
from oncekit.proof.simulation.scheduler import Scheduler

LAG = 20.0
"""Seconds for which a change may be unseen; AWS names no bound ("may not reflect very recent updates and changes")."""
LATE = 400.0
"""Seconds: longer than an owner in the fast lane keeps the lock."""
SOON = 2.0


class Background:
    """A calm one: nothing happens."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler

    def at_call(self, call: Call, proceed: Proceed) -> dict[str, Any]:
        return proceed()

    def of_run(self, arn: str) -> Sequence[float]:
        """After how many seconds an asynchronous execution runs once more."""
        return ()


class Stale(Background):
    """Also for operators."""

    def at_call(self, call: Call, proceed: Proceed) -> dict[str, Any]:
        if call.action != "describe_execution":
            return proceed()
        with behind(LAG):
            return proceed()


class Doubled(Background):
    """A machine that is asynchronous and Express may run twice."""

    def __init__(self, scheduler: Scheduler, machine: str, after: float) -> None:
        super().__init__(scheduler)
        self._machine, self._after = machine, after

    def at_call(self, call: Call, proceed: Proceed) -> dict[str, Any]:
        self._scheduler.wait()  # so that the other one goes on between any two calls
        return proceed()

    def of_run(self, arn: str) -> Sequence[float]:
        return (self._after,) if self._machine in arn else ()


BACKGROUNDS: Mapping[str, Callable[[Scheduler], Background]] = {
    "calm": Background,
    "stale": Stale,
    "recovery twice": lambda scheduler: Doubled(scheduler, "Recovery", 0.0),
    "recovery late": lambda scheduler: Doubled(scheduler, "Recovery", LATE),
    "fast twice": lambda scheduler: Doubled(scheduler, "Fast", 0.0),
    "fast soon": lambda scheduler: Doubled(scheduler, "Fast", SOON),
    "fast late": lambda scheduler: Doubled(scheduler, "Fast", LATE),
}
