"""Which lines a function printed in which attempt of a run of the local cloud."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from oncekit.console.json_text import members_of
from oncekit.console.rows import Log
from oncekit.console.run import Run
from oncekit.local.once_cloud import LocalCloud


def log_of(cloud: LocalCloud, run: Run) -> Log:
    """By visit and attempt. An invocation names its owner and fence; a call that was refused before it started has no
    invocation, so that those of one fence are the last attempts."""
    started: dict[Any, list[Sequence[str]]] = {}
    for each in cloud.functions.invocations:
        lock = each.event.get("lock") if isinstance(each.event, Mapping) else None
        if isinstance(lock, Mapping) and lock.get("owner") == run.arn:
            started.setdefault(lock.get("fence"), []).append(cloud.functions.printed(each.request_id))
    log: dict[tuple[int, int], Sequence[str]] = {}
    for fence, printed in started.items():
        called = [
            (visit.number, number)
            for visit in run.visits
            for number, attempt in enumerate(visit.attempts)
            if attempt.invokes and _fence(attempt.parameters) == fence
        ]
        log |= dict(zip(called[-len(printed) :], printed, strict=False))
    return log


def without_metrics(lines: Sequence[str]) -> Sequence[str]:
    """What the function printed itself; metrics are for CloudWatch."""
    return [each for each in lines if "_aws" not in members_of(each)]


def _fence(parameters: str | None) -> Any:
    return members_of(parameters).get("Payload", {}).get("lock", {}).get("fence")
