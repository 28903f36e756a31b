"""Retries: in a Standard machine they last as long as the execution, and none repeats what a Catch names.

A Task without a Catch for States.ALL has nobody else that could do its work: when its retries are used up, the
execution ends, and what it was given is lost.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from oncekit.asl.sizes import MAX_EVENTS
from oncekit.gate.machine import Finding, Machine, State

_EITHER_WAY = ("States.DataLimitExceeded", "States.Runtime")
_EVENTS_OF_A_RETRY = 3
"""TaskScheduled, TaskStarted and TaskFailed or TaskTimedOut, in AWS's recorded histories."""


def check(machine: Machine) -> Iterator[Finding]:
    for state in machine.tasks():
        for name in _repeated(state):
            yield machine.finding(
                state,
                f"retries States.ALL before its Catch of {name} is asked: AWS's guide says that States.ALL does not "
                "match that, recorded answers that it may; put it first with MaxAttempts: 0",
            )
        if machine.type == "STANDARD" and not any("States.ALL" in each for each in _names(state, "Catch")):
            for problem in _gives_up(state, float(machine.definition["TimeoutSeconds"])):
                yield machine.finding(state, problem)


def _repeated(state: State) -> Iterator[str]:
    """What the Catch names that States.ALL may match or not, where the Retry of States.ALL comes first."""
    known: set[str] = set()
    for names in _names(state, "Retry"):
        if "States.ALL" in names:
            yield from sorted({*_EITHER_WAY} & {each for of in _names(state, "Catch") for each in of} - known)
        known |= set(names)


def _names(state: State, kind: str) -> Iterator[list[str]]:
    for clause in state.raw.get(kind, []):
        yield clause.get("ErrorEquals", [])


def _gives_up(state: State, lives: float) -> Iterator[str]:
    for clause in state.raw.get("Retry", []):
        if "States.ALL" in clause.get("ErrorEquals", []):
            # Twice as long on average, so that they last however the dice fall.
            retries, seconds = _span(clause, 2 * lives)
            if seconds < 2 * lives:
                yield (
                    f"gives up after {retries} retries, which last {seconds / 3600:.1f} h on average, while its "
                    f"execution lives for {lives / 3600:g} h and nobody else has the request; raise MaxAttempts"
                )
            elif _EVENTS_OF_A_RETRY * retries / 2 > MAX_EVENTS:
                yield (
                    f"some {retries // 2} retries in {lives / 3600:g} h are more than the {MAX_EVENTS} events at "
                    "which AWS ends an execution; raise MaxDelaySeconds"
                )
            elif math.log2(float(clause.get("BackoffRate", 2))) * retries / 2 >= sys.float_info.max_exp:
                yield (
                    f"the BackoffRate to the power of some {retries // 2} retries in {lives / 3600:g} h is more than a "
                    "number can be, and what AWS makes of it is in no document; lower BackoffRate"
                )


def _span(clause: Mapping[str, Any], enough: float) -> tuple[int, float]:
    """How many retries there are, and how long they last on average; no more than are enough."""
    jitter = 0.5 if clause.get("JitterStrategy") == "FULL" else 1
    delay, longest = float(clause.get("IntervalSeconds", 1)), float(clause.get("MaxDelaySeconds", enough))
    seconds = 0.0
    for done in range(int(clause.get("MaxAttempts", 3))):
        if seconds >= enough:
            return done, seconds
        seconds += jitter * min(delay, longest)
        delay = min(delay * float(clause.get("BackoffRate", 2)), longest)
    return int(clause.get("MaxAttempts", 3)), seconds
