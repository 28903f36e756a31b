"""What functions printed: by the attempt of an execution, or of one id."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from oncekit.console.json_text import members, members_of
from oncekit.console.run import Run
from oncekit.console.starts import locks_of
from oncekit.local.once_cloud import LocalCloud

Log = Mapping[tuple[int, int], Sequence[str]]
"""Lines, by the number of the visit and of its attempt, which counts from 0."""


def of_id(id: str, printed: Sequence[str]) -> Sequence[str]:
    """Without metrics, and what the library's logger says of another id: an invocation may have many."""
    told = [(line, members_of(line)) for line in printed]
    is_of_another = ("function_request_id" in said and said.get("id") != id for _, said in told)
    return [line for (line, said), other in zip(told, is_of_another, strict=True) if "_aws" not in said and not other]


def log_of(cloud: LocalCloud, run: Run) -> Log:
    """By visit and attempt. An invocation names its owner and fence; a call that was refused before it started has no
    invocation, so that those of one fence are the last attempts."""
    started: dict[Any, list[Sequence[str]]] = {}
    for each in cloud.functions.invocations:
        lock = members(members(each.event).get("lock"))
        if lock.get("owner") == run.arn:
            started.setdefault(lock.get("fence"), []).append(cloud.functions.printed(each.request_id))
    locks = locks_of(run)
    log: dict[tuple[int, int], Sequence[str]] = {}
    for fence, printed in started.items():
        called = [
            (visit.number, number)
            for visit in run.visits
            for number, attempt in enumerate(visit.attempts)
            if attempt.invokes and locks.get(visit.number, {}).get("fence") == fence
        ]
        log |= dict(zip(called[-len(printed) :], printed, strict=False))
    return log
