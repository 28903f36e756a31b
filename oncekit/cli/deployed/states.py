"""The states that an execution went through, out of its history: when, with what, and what came of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from oncekit.cli.deployed.owners import events_of, iso
from oncekit.cli.deployed.stack import Stack

ENTERED, EXITED = "stateEnteredEventDetails", "stateExitedEventDetails"
FAILURES = (
    "taskFailedEventDetails",
    "taskTimedOutEventDetails",
    "taskSubmitFailedEventDetails",
    "taskStartFailedEventDetails",
    "evaluationFailedEventDetails",
)
ENDS = ("executionFailedEventDetails", "executionAbortedEventDetails", "executionTimedOutEventDetails")
REDRIVEN = "ExecutionRedriven"

State = dict[str, Any]


def states_of(stack: Stack, execution: str) -> list[State]:
    """{state, enteredAt, exitedAt, input, output, errors: [{error, cause}]} for each state, as often as it was entered.

    Input and output are JSON texts, None where the history has no data. A redrive stands among the states by the name
    of its event, without data.
    """
    return list(_states(events_of(stack.client("stepfunctions"), execution)))


def _states(events: Iterator[dict[str, Any]]) -> Iterator[State]:
    state: State | None = None
    for event in events:
        if ENTERED in event or event["type"] == REDRIVEN:
            if state is not None:
                yield state
            state = _entered(event)
        elif state is not None:
            _note(state, event)
    if state is not None:
        yield state


def _entered(event: dict[str, Any]) -> State:
    details = event.get(ENTERED, {})
    return {
        "state": details.get("name", event["type"]),
        "enteredAt": iso(event["timestamp"]),
        "exitedAt": None,
        "input": details.get("input"),
        "output": None,
        "errors": [],
    }


def _note(state: State, event: dict[str, Any]) -> None:
    if EXITED in event:
        state |= {"exitedAt": iso(event["timestamp"]), "output": event[EXITED].get("output")}
    for kind in (*FAILURES, *ENDS):
        if kind in event:
            failure = {name: event[kind].get(name) for name in ("error", "cause")}
            if any(failure.values()) and failure not in state["errors"][-1:]:
                state["errors"].append(failure)
