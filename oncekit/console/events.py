"""How the events of GetExecutionHistory name what they say.

Their shape is that of AWS's API (https://docs.aws.amazon.com/step-functions/latest/apireference/API_HistoryEvent.html);
the local cloud gives the same, with times as text.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

Raw = Mapping[str, Any]
"""An event as it comes."""

ENTERED, EXITED = "stateEnteredEventDetails", "stateExitedEventDetails"
SCHEDULED = "taskScheduledEventDetails"
FAILURES = (
    "taskFailedEventDetails",
    "taskTimedOutEventDetails",
    "taskSubmitFailedEventDetails",
    "taskStartFailedEventDetails",
    "evaluationFailedEventDetails",
    "mapRunFailedEventDetails",
)
EXECUTION_FAILED = "executionFailedEventDetails"
ENDS = (EXECUTION_FAILED, "executionAbortedEventDetails", "executionTimedOutEventDetails")
BRANCH_FAILED = "MapIterationFailed"
BRANCHES_FAILED = ("MapStateFailed", "ParallelStateFailed")
"""Of a Map or a Parallel, because of what is within it; with a Retry or a Catch the execution goes on."""
BRANCHES_ENDED = (*BRANCHES_FAILED, "MapStateSucceeded", "ParallelStateSucceeded")
REDRIVEN = "ExecutionRedriven"
TASK_SUCCEEDED = "TaskSucceeded"
_ENTERED_SUFFIX = "StateEntered"


def kind_of(event: Raw) -> str:
    """The type: a text of the API, or a member of an enumeration."""
    kind = event["type"]
    return str(getattr(kind, "value", kind))


def time_of(event: Raw) -> datetime.datetime:
    return moment(event["timestamp"])


def moment(at: Any) -> datetime.datetime:
    """A time as boto3 gives it, or the local cloud's text."""
    return at if isinstance(at, datetime.datetime) else datetime.datetime.fromisoformat(at)


def type_of_state(event: Raw) -> str:
    """Task, Choice, Wait... of an event that says that a state begins."""
    return kind_of(event).removesuffix(_ENTERED_SUFFIX)


def details_of(event: Raw) -> Mapping[str, Any]:
    """What the event says besides its number, type and time; nothing for most."""
    return next((value for name, value in event.items() if name.endswith("EventDetails") and value), {})


def iso(at: datetime.datetime | None) -> str | None:
    """A time as people and programs read it: UTC, with milliseconds."""
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z") if at else None
