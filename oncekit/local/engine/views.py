"""The answers of DescribeExecution, ListExecutions and GetExecutionHistory: up to date, or outdated.

The first two are "eventually consistent. The results are best effort and may not reflect very recent updates and
changes" (API Reference). No document says how old an answer can be, or whether GetExecutionHistory is eventually
consistent, too (unconfirmed). Here its answer is outdated only if a test asks for that.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

Description = Mapping[str, Any]
BEFORE_THE_LAST_CHANGE = -1.0
"""An age: the answer from before the last change of status."""

_thread = threading.local()
_everyone: list[float] = []


@contextmanager
def behind(age: float) -> Iterator[None]:
    """Answers to this thread are `age` seconds old."""
    before = getattr(_thread, "age", 0.0)
    _thread.age = age
    try:
        yield
    finally:
        _thread.age = before


@contextmanager
def behind_for_everyone(age: float) -> Iterator[None]:
    """Answers to all threads are `age` seconds old."""
    _everyone.append(age)
    try:
        yield
    finally:
        _everyone.remove(age)


def note(execution: Any, now: float, description: Description) -> None:
    """Keep the current answer, for later outdated answers."""
    vars(execution).setdefault("told", []).append((now, description))


def seen(execution: Any, now: float) -> Description | None:
    """The answer about an execution to this thread; None if it did not exist yet."""
    told: list[tuple[float, Description]] = list(vars(execution).get("told", ()))
    age = _age() or (_everyone[-1] if _everyone else 0.0)
    if age == BEFORE_THE_LAST_CHANGE:
        return told[-2:][0][1] if told else None
    known = [description for since, description in told if since <= now - age] if age else [told[-1][1]]
    return known[-1] if known else None


def _age() -> float:
    return float(getattr(_thread, "age", 0.0))
