"""Executions and invocations, with their results, as plain values; and where to find the executions that there are."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from oncekit.local.engine.live import LiveExecution, StateMachine


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

    @property
    def why(self) -> str:
        """In one line why it did not succeed: what its function raised, or its own error and cause; else its status."""
        with suppress(TypeError, ValueError, KeyError):
            told = json.loads(self.cause or "")
            return f"{told['name']}: {told['message']}"
        return f"{self.error}: {self.cause}" if self.error else self.status

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


def execution_of(live: Any) -> Execution:
    """The current state of one of the cloud's executions."""
    events = list(live.run.history.events)
    entered = [event for event in events if event["type"].endswith(_ENTERED)]
    return Execution(
        name=live.name,
        arn=live.arn,
        status=live.status,
        input=live.input,
        output=live.output,
        error=live.error,
        cause=live.cause,
        states=tuple(str(event["stateEnteredEventDetails"]["name"]) for event in entered),
        transitions=len(entered) + _retries(events),
        events=events,
    )


def state_of(live: Any) -> str:
    """The state that a running execution is in, for messages."""
    states = execution_of(live).states
    return states[-1] if states else "no state yet"


def as_text(request: Any) -> str:
    """The input of an execution: a string that is JSON text as it is, anything else serialised."""
    if isinstance(request, str):
        with suppress(ValueError):
            json.loads(request)
            return request
    return json.dumps(request, separators=(",", ":"))


def _retries(events: Sequence[dict[str, Any]]) -> int:
    kinds = [event["type"] for event in events]
    return max(0, kinds.count("TaskScheduled") - kinds.count("TaskStateEntered"))


SECONDS_OF_A_CALL = 2.0
"""At most so long what is forgotten is waited for: an execution that was stopped may be in the middle of a call."""


class NoSuchExecution(LookupError):
    """There is no execution with this ARN, or no longer."""


class Executions:
    """Finds executions by their ARN, and waits for their ends. `machines` gives those that there are."""

    def __init__(self, machines: Callable[[], Sequence[StateMachine]]) -> None:
        self._machines = machines

    @property
    def machines(self) -> Sequence[StateMachine]:
        return self._machines()

    def of(self, machine_arn: str) -> list[LiveExecution]:
        """The executions of one machine, oldest first."""
        return [each for machine in self.machines if machine.arn == machine_arn for each in machine.executions]

    def running(self) -> list[LiveExecution]:
        return [each for machine in self.machines for each in machine.executions if each.status == "RUNNING"]

    def find(self, arn: str) -> LiveExecution:
        """Of several runs under one ARN the last one. Raises NoSuchExecution."""
        for machine in self.machines:
            for execution in reversed(machine.executions):
                if execution.arn == arn:
                    return execution
        raise NoSuchExecution(f"there is no execution {arn}")

    def describe(self, arn: str) -> Execution:
        """The execution as it is now."""
        return execution_of(self.find(arn))

    def wait(self, arn: str, timeout: float = 60) -> Execution:
        """Wait for the end of an execution, `timeout` real seconds at most. Raises TimeoutError, naming its state."""
        from oncekit.local.engine.runs import ended

        running = self.find(arn)
        with ended:
            in_time = ended.wait_for(lambda: running.status != "RUNNING", timeout)
        if not in_time:
            raise TimeoutError(f"after {timeout:g} s, execution {running.name} is still in {state_of(running)}")
        return execution_of(running)

    def forget(self) -> None:
        """Stop and forget all executions. Not through the API, which cannot stop an Express execution.

        What a delivery starts meanwhile stays, and runs: forget it when the delivery is over.
        """
        for machine in self.machines:
            begun = list(machine.executions)
            for execution in begun:
                if execution.status == "RUNNING":
                    execution.stop("Reset", "the local cloud was reset")
            for execution in begun:
                execution.run.join(SECONDS_OF_A_CALL)
            machine.executions[:] = [each for each in machine.executions if not any(each is one for one in begun)]
