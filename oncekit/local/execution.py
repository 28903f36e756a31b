"""Executions and invocations, with their results, as plain values."""

from __future__ import annotations

import datetime
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

_ENTERED = "StateEntered"
MOST_OF_A_CAUSE = 500
"""Characters of a cause that `repr` shows."""


@dataclass(frozen=True, repr=False)
class Execution:
    """An execution of a state machine, as it was when this was made."""

    name: str
    arn: str
    status: str
    """RUNNING, SUCCEEDED, FAILED, TIMED_OUT or ABORTED."""
    input: Any
    output: Any
    """Parsed; None unless it succeeded."""
    error: str | None
    cause: str | None
    states: tuple[str, ...]
    """Names in the order in which they were entered."""
    transitions: int
    """State transitions that AWS would bill: every state entered, and every retry of one."""
    events: Sequence[dict[str, Any]]
    """The history, oldest first, in the shape of GetExecutionHistory."""

    @property
    def seconds(self) -> float:
        """From the first event to the last one, by the cloud's clock."""
        times = [datetime.datetime.fromisoformat(each["timestamp"]) for each in (*self.events[:1], *self.events[-1:])]
        return (times[-1] - times[0]).total_seconds() if times else 0.0

    def __repr__(self) -> str:
        """Short, for a failed assertion: how it ended, and its path."""
        why = f" {self.error}: {(self.cause or '')[:MOST_OF_A_CAUSE]}" if self.error else ""
        return f"<Execution {self.name} {self.status}{why} [{' → '.join(self.states)}]>"


@dataclass(frozen=True)
class Invocation:
    """One start of business logic. Times in epoch seconds of the real clock."""

    request_id: str
    operation: str
    event: Any
    started_at: float
    ended_at: float | None
    outcome: str
    """`succeeded`, an error's name, or `running`."""


def execution_of(moto_execution: Any) -> Execution:
    """The current state of one of moto's executions."""
    worker = moto_execution.exec_worker
    history = moto_execution.to_history_output()["events"] if worker is not None and worker.env is not None else []
    events = sorted(history, key=lambda event: int(event["id"]))
    status = str(moto_execution.status)
    entered = [event for event in events if str(_type(event)).endswith(_ENTERED)]
    return Execution(
        name=moto_execution.name,
        arn=moto_execution.exec_arn,
        status=status,
        input=moto_execution.input_data,
        output=moto_execution.output if status == "SUCCEEDED" else None,
        error=moto_execution.error,
        cause=moto_execution.cause,
        states=tuple(str(event["stateEnteredEventDetails"]["name"]) for event in entered),
        transitions=len(entered) + _retries(events),
        events=events,
    )


def state_of(moto_execution: Any) -> str:
    """The state that a running execution is in, for messages."""
    states = execution_of(moto_execution).states
    return states[-1] if states else "no state yet"


def as_text(request: Any) -> str:
    """The input of an execution: a string that is JSON text as it is, anything else serialised."""
    if isinstance(request, str):
        with suppress(ValueError):
            json.loads(request)
            return request
    return json.dumps(request, separators=(",", ":"))


def _type(event: dict[str, Any]) -> str:
    kind = event["type"]
    return str(getattr(kind, "value", kind))


def _retries(events: Sequence[dict[str, Any]]) -> int:
    kinds = [_type(event) for event in events]
    return max(0, kinds.count("TaskScheduled") - kinds.count("TaskStateEntered"))
