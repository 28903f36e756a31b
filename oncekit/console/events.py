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
)
STOPPED = ("executionAbortedEventDetails", "executionTimedOutEventDetails")
ENDS = ("executionFailedEventDetails", *STOPPED)
OF_A_MAP = "MapState"
"""How the type of an event begins that is about a Map as a whole, not about what is within it."""


def kind_of(event: Raw) -> str:
    """The type: a text of the API, or a member of an enumeration."""
    kind = event["type"]
    return str(getattr(kind, "value", kind))


def moment(at: Any) -> datetime.datetime:
    """A time as boto3 gives it, or the local cloud's text."""
    return at if isinstance(at, datetime.datetime) else datetime.datetime.fromisoformat(at)


def details_of(event: Raw) -> Mapping[str, Any]:
    """What the event says besides its number, type and time; nothing for most."""
    return next((value for name, value in event.items() if name.endswith("EventDetails") and value), {})


def iso(at: datetime.datetime | None) -> str | None:
    """A time as people and programs read it: UTC, with milliseconds."""
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z") if at else None
