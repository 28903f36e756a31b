"""State machines, and executions from their start on, as Step Functions remembers them."""

from __future__ import annotations

import datetime
import functools
import json
from dataclasses import dataclass, field
from typing import Any

from oncekit.asl.definition import why_not
from oncekit.asl.errors import StateError

RUNNING, SUCCEEDED, FAILED, ABORTED, TIMED_OUT = "RUNNING", "SUCCEEDED", "FAILED", "ABORTED", "TIMED_OUT"
DEAD = (FAILED, ABORTED, TIMED_OUT)


@functools.cache
def _why_not(definition: str) -> str | None:
    """Once for all starts of a machine."""
    return why_not(json.loads(definition))


@dataclass(eq=False)
class StateMachine:
    """A machine as it is now; an update changes nothing for the executions that run."""

    arn: str
    name: str
    type: str
    role_arn: str
    definition: str
    created: datetime.datetime
    is_deleted: bool = False
    executions: list[LiveExecution] = field(default_factory=list)
    """Oldest first."""

    @property
    def why_not(self) -> str | None:
        """Why it is in name only here, in words; None for one that runs."""
        return _why_not(self.definition)


@dataclass(eq=False)
class LiveExecution:
    """An execution, from its start on."""

    machine: StateMachine
    name: str
    arn: str
    text: str
    start_date: datetime.datetime
    definition: str
    role_arn: str
    status: str = RUNNING
    output: Any = None
    error: str | None = None
    cause: str | None = None
    stop_date: datetime.datetime | None = None
    redrive_count: int = 0
    redrive_date: datetime.datetime | None = None
    told: list[Any] = field(default_factory=list)
    """What DescribeExecution answered since when: views.py."""

    def __post_init__(self) -> None:
        self.input = json.loads(self.text)
        self.run: Any = None
        """Its present run, as runs.py has it."""

    def stop(self, error: str | None, cause: str | None) -> None:
        """End it, unless it has ended."""
        self.run.end(ABORTED, StateError(error, cause).details)
