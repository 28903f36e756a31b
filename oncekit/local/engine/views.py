"""The answers of DescribeExecution: up to date, or outdated.

They are "eventually consistent. The results are best effort and may not reflect very recent updates and changes" (API
Reference). No document says how old an answer can be.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from oncekit.asl.sizes import text_of

Description = Mapping[str, Any]

_thread = threading.local()


@contextmanager
def behind(age: float) -> Iterator[None]:
    """Answers to this thread are `age` seconds old."""
    before = getattr(_thread, "age", 0.0)
    _thread.age = age
    try:
        yield
    finally:
        _thread.age = before


def note(execution: Any, now: float) -> None:
    """Keep the current answer, for later outdated answers."""
    execution.told.append((now, description(execution)))


def seen(execution: Any, now: float) -> Description | None:
    """The answer about an execution to this thread; None if it did not exist yet."""
    told: list[tuple[float, Description]] = list(execution.told)
    age = float(getattr(_thread, "age", 0.0))
    known = [description for since, description in told if since <= now - age] if age else [told[-1][1]]
    return known[-1] if known else None


def description(execution: Any) -> dict[str, Any]:
    """DescribeExecution's answer."""
    answer = {
        "executionArn": execution.arn,
        "stateMachineArn": execution.machine.arn,
        "name": execution.name,
        "status": execution.status,
        "startDate": execution.start_date,
        "stopDate": execution.stop_date,
        "redriveCount": execution.redrive_count,
        "redriveDate": execution.redrive_date,
        "input": execution.text,
        "inputDetails": {"included": True},
        "error": execution.error,
        "cause": execution.cause,
    }
    if execution.status == "SUCCEEDED":
        answer |= {"output": text_of(execution.output), "outputDetails": {"included": True}}
    return {key: value for key, value in answer.items() if value is not None}
