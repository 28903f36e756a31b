"""Step Functions of the local cloud: executions on `oncekit.asl`, with what they are handed.

executions.py    state machines; starts, stops, redrives
live.py          machines and executions as they are remembered
runs.py          an execution from its start to its end
integrations.py  names and shapes of parameters, responses and errors of a Task's call
service_calls.py the one place that every service call goes through, with interceptors
views.py         answers about executions, which may be outdated
interceptors.py  ready-made interceptors: the ways in which a call can fail
repeats.py       Express executions that run more than once
boundaries.py    where a state begins and ends
api.py           the API of Step Functions

dynamodb.py      what moto has otherwise: atomic writes, tokens of transactions, conditions on what is not there
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from oncekit.local.clock import Clock
from oncekit.local.engine.executions import Executions
from oncekit.local.engine.repeats import Repeats
from oncekit.local.engine.service_calls import ServiceCalls
from oncekit.local.patching import replaced


@contextmanager
def install(
    clock: Clock, service_calls: ServiceCalls, repeats: Repeats, dice: random.Random | None = None
) -> Iterator[Executions]:
    """The executions of a cloud, while the context is open; one at a time in a process.

    `dice` is behind the jitter of retries, $random and $uuid; seeded by default, so that a run can be repeated.
    """
    from moto.s3 import models as s3

    from oncekit.asl.expression import strict_syntax
    from oncekit.local.engine import dynamodb, runs

    chance = dice or random.Random(0)  # noqa: S311 jitter, no secret
    executions = Executions(clock, service_calls, repeats, chance)
    with (
        _deep_recursion(runs.RECURSION_LIMIT),
        strict_syntax(),
        executions.noted(),
        replaced((s3, "utcnow", lambda: runs.instant(clock).replace(tzinfo=None)), *dynamodb.changes()),
    ):
        yield executions


@contextmanager
def _deep_recursion(limit: int) -> Iterator[None]:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, before))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
