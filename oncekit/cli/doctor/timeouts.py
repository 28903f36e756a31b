"""How long a deployed definition lets things take: tasks, leases, the execution, in seconds."""

from __future__ import annotations

import functools
import json
import random
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from oncekit.promises.leases import lease_texts

FULL_LANE_ONLY = ("ClaimRedrive",)
"""States that set a lease and that no way leads to in the fast lane, although its definition has them."""
INVOKES = "arn:aws:states:::lambda:invoke"
_PARTITION = re.compile(r"^arn:[a-z-]+:")


@dataclass(frozen=True)
class Timeouts:
    """`tasks` by the state that invokes a function, `leases` by the state that sets one; None: it cannot be told.

    In the fast lane a lease is counted from the start of an execution, which may take the lock at any time.
    """

    tasks: Mapping[str, float | None]
    leases: Mapping[str, float | None]
    execution: float | None


@functools.cache
def timeouts_of(definition: str, is_fast: bool = False) -> Timeouts:
    """What a definition (JSON) says, its expressions evaluated at the time 0, so that a lease is its length."""
    machine = json.loads(definition)
    execution = _seconds(machine.get("TimeoutSeconds"))
    stops_at = (execution or 0) if is_fast else 0
    states: Mapping[str, Mapping[str, Any]] = machine["States"]
    tasks = {
        name: _seconds(state.get("TimeoutSeconds"))
        for name, state in states.items()
        if _PARTITION.sub("arn:aws:", str(state.get("Resource", ""))) == INVOKES
    }
    leases = {
        name: seconds
        for name, state in states.items()
        if not (is_fast and name in FULL_LANE_ONLY)
        for text in lease_texts(state)
        if (seconds := _seconds(text, stops_at)) != 0
    }
    return Timeouts(tasks, leases, execution)


@functools.cache
def _seconds(value: float | str | None, stops_at: float = 0) -> float | None:
    """A number, or the value of an expression that needs nothing of the execution but when it stops; without a wait."""
    from oncekit.local.engine.expression import Evaluator
    from oncekit.local.engine.values import JSONataError

    text = str(value)
    try:
        if text.startswith("{%"):
            source = text.removeprefix("{%").removesuffix("%}").strip()
            known = {"stopsAt": stops_at, "backOffSeconds": 0}
            return float(Evaluator(lambda: 0.0, random.Random(0)).evaluate(source, known))  # noqa: S311 no secret
        return float(text)
    except (JSONataError, TypeError, ValueError):
        return None
