"""moto's Step Functions interpreter, patched to behave as AWS does.

Each module changes one thing and says what AWS does; `install` makes all changes, and undoes them at the end.

    values.py              JSON values as the JSONata engine wants them
    javascript.py          numbers, strings and regular expressions as JavaScript has them
    jsonata_functions.py   functions of Step Functions, and corrections of those that the engine has
    expression.py          JSONata 2.0.6 with bindings
    jsonata.py             expressions in the interpreter
    service_calls.py       the one place that every service call goes through, with interceptors
    services.py            names and shapes of parameters, responses and errors
    states.py, tasks.py    inputs, outputs, Assign, choices; attempts, retries, catches
    limits.py              256 KiB
    timing.py              waits and timestamps from a clock
    maps.py                Map
    runs.py, history.py    an execution from its start to its end; its events
    executions.py          starts, stops, redrives
    views.py               answers about executions, which may be outdated
    repeats.py             Express executions that run more than once
    programs.py            definitions parsed once
    dynamodb.py            atomic writes, tokens of transactions, conditions on what is not there
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from oncekit.local.patching import replaced

if TYPE_CHECKING:
    from oncekit.local.clock import Clock
    from oncekit.local.engine.repeats import Repeats
    from oncekit.local.engine.service_calls import ServiceCalls

PINNED = {"moto": "5.2.5", "jsonata-python": "0.7.1"}


class EngineReplaced(RuntimeError):
    """The installed engine is not the one that was patched and tested."""


def check_pins() -> None:
    for package, wanted in PINNED.items():
        if (found := version(package)) != wanted:
            raise EngineReplaced(
                f"{package} {found} is installed, but the local cloud patches {package} {wanted}: "
                f"install the pinned requirements, or run the tests in tests/local against {found} and change PINNED"
            )


@contextmanager
def install(
    clock: Clock,
    service_calls: ServiceCalls,
    repeats: Repeats,
    dice: random.Random | None = None,
    kept_in: Path | None = None,
) -> Iterator[None]:
    """Patch the interpreter while the context is open; one at a time in a process.

    `dice` is behind the jitter of retries, $random and $uuid; seeded by default, so that a run can be repeated.
    `kept_in` is a folder for parsed definitions.
    """
    check_pins()
    from oncekit.local.engine import (
        dynamodb,
        executions,
        history,
        jsonata,
        limits,
        maps,
        programs,
        runs,
        services,
        states,
        tasks,
        timing,
    )
    from oncekit.local.engine.expression import strict_syntax

    chance = dice or random.Random(0)  # noqa: S311 jitter, no secret
    with (
        _deep_recursion(runs.RECURSION_LIMIT),
        strict_syntax(),
        executions.patch(clock, repeats),
        replaced(
            *limits.changes(),
            *jsonata.changes(clock, chance),
            *states.changes(),
            *services.changes(service_calls),
            *tasks.changes(service_calls, chance),
            *maps.changes(),
            *timing.changes(clock),
            *history.changes(clock),
            *runs.changes(),
            *programs.changes(kept_in),
            *dynamodb.changes(),
        ),
    ):
        yield


@contextmanager
def _deep_recursion(limit: int) -> Iterator[None]:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, before))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
