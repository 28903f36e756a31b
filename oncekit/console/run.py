"""A run: what an execution did, state by state. Made of its description and the events of its history.

What a run looks like is the same here and on AWS. Within a Map, one item follows the other.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from oncekit.console.words import moment

Raw = Mapping[str, Any]
"""An event as it comes: https://docs.aws.amazon.com/step-functions/latest/apireference/API_HistoryEvent.html"""

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

Outcome = Literal["succeeded", "unmet", "caught", "failed", "stopped", "running"]
"""How a visit ended: `caught` left by a Catch, `unmet` so because the condition of its write did not hold, as when a
record is there already; `stopped` had the execution ended from outside."""
CONDITION = "ConditionalCheckFailed"
RUNNING = "RUNNING"


@dataclass(frozen=True)
class Failure:
    error: str | None
    cause: str | None


@dataclass(frozen=True)
class Attempt:
    """One call that a task made."""

    resource: str
    """`dynamodb:updateItem`."""
    parameters: str | None
    """JSON."""
    failure: Failure | None = None

    @property
    def invokes(self) -> bool:
        """Whether it called a function."""
        return self.resource.startswith("lambda:invoke")


@dataclass(frozen=True)
class Visit:
    """A state, one of the times that it was entered; input and output are JSON, None where nobody kept them."""

    number: int
    """Counted from 1 over all of the run."""
    state: str
    type: str
    """Task, Choice, Wait, Pass, Succeed, Fail or Map."""
    outcome: Outcome
    entered_at: datetime.datetime
    exited_at: datetime.datetime | None = None
    input: str | None = None
    output: str | None = None
    variables: Mapping[str, str] | None = None
    """Those that the state assigned."""
    attempts: Sequence[Attempt] = ()
    failures: Sequence[Failure] = ()
    """Also those that were retried."""
    parent: int | None = None
    """The visit of the Map that it is within."""

    @property
    def retries(self) -> int:
        return max(0, len(self.attempts) - 1)


@dataclass(frozen=True)
class Run:
    """An execution as it is now, or was at its end."""

    arn: str
    status: str
    started_at: datetime.datetime
    ended_at: datetime.datetime | None
    input: str | None
    output: str | None
    error: str | None
    cause: str | None
    visits: Sequence[Visit]
    details: Sequence[Mapping[str, Any]]
    """What each event says besides its number, type and time; nothing in most."""

    @property
    def name(self) -> str:
        """Of an execution in the fast lane without the part that Step Functions adds."""
        return self.arn.split(":")[7]

    @property
    def transitions(self) -> int:
        """What AWS bills: every state entered, and every retry."""
        return len(self.visits) + sum(each.retries for each in self.visits)


def run_of(description: Mapping[str, Any], events: Iterable[Raw]) -> Run:
    """A run, made of DescribeExecution's answer and the events of its history, the oldest first."""
    status = str(description["status"])
    visits: list[Visit] = []
    told = [dict(event) for event in events]
    for event in told:
        _read(event, visits)
    started = description.get("startDate") or (told[0]["timestamp"] if told else None)
    ended = description.get("stopDate")
    return Run(
        arn=str(description["executionArn"]),
        status=status,
        started_at=moment(started) if started else datetime.datetime.fromtimestamp(0, datetime.UTC),
        ended_at=moment(ended) if ended and status != RUNNING else None,
        input=description.get("input"),
        output=description.get("output"),
        error=description.get("error"),
        cause=description.get("cause"),
        visits=[_as_it_is(visit, status, is_last=visit is visits[-1]) for visit in visits],
        details=[_details(event) for event in told],
    )


def _as_it_is(visit: Visit, status: str, is_last: bool) -> Visit:
    if status != RUNNING:
        return replace(visit, outcome="stopped") if visit.outcome == "running" else visit
    will_be_repeated = is_last and visit.outcome == "failed" and visit.type != "Fail"
    return replace(visit, outcome="running") if will_be_repeated else visit


def _details(event: Raw) -> Mapping[str, Any]:
    return next((value for name, value in event.items() if name.endswith("EventDetails") and value), {})


def _read(event: Raw, visits: list[Visit]) -> None:
    """Note an event in the visit that it belongs to, or begin one."""
    kind = str(getattr(event["type"], "value", event["type"]))  # an enumeration in the local cloud
    at = moment(event["timestamp"])
    if (entered := event.get(ENTERED)) is not None:
        number, type = len(visits) + 1, kind.removesuffix("StateEntered")
        around = next((each.number for each in reversed(visits) if _is_open_map(each)), None)
        outcome: Outcome = "failed" if type == "Fail" else "running"
        visits.append(Visit(number, entered["name"], type, outcome, at, input=entered.get("input"), parent=around))
    elif number := _belongs_to(event, kind, visits):
        visits[number - 1] = _noted(visits[number - 1], event, kind, at)


def _is_open_map(visit: Visit) -> bool:
    return visit.type == "Map" and visit.exited_at is None


def _belongs_to(event: Raw, kind: str, visits: Sequence[Visit]) -> int:
    """The number of the visit; 0 before the first one."""
    if EXITED in event:
        name = event[EXITED]["name"]
        found = [each.number for each in visits if each.state == name and each.exited_at is None]
    else:
        found = [each.number for each in visits if _is_open_map(each)] if kind.startswith(OF_A_MAP) else []
    return found[-1] if found else len(visits)


def _noted(visit: Visit, event: Raw, kind: str, at: datetime.datetime) -> Visit:
    if EXITED in event:
        exit = event[EXITED]
        outcome: Outcome = _left_by_catch(visit) if visit.outcome == "failed" else "succeeded"
        output, variables = exit.get("output"), exit.get("assignedVariables")
        return replace(visit, outcome=outcome, exited_at=at, output=output, variables=variables)
    if SCHEDULED in event:
        call = event[SCHEDULED]
        attempt = Attempt(f"{call['resourceType']}:{call['resource']}", call.get("parameters"))
        return replace(visit, outcome="running", attempts=(*visit.attempts, attempt))
    if kind in ("MapIterationFailed", "MapStateFailed"):
        return replace(visit, outcome="failed")
    failed = next((name for name in (*FAILURES, *ENDS) if name in event), None)
    return visit if failed is None else _failed(visit, failed, event[failed])


def _left_by_catch(visit: Visit) -> Outcome:
    return "unmet" if visit.failures and CONDITION in str(visit.failures[-1].error) else "caught"


def _failed(visit: Visit, name: str, details: Mapping[str, Any]) -> Visit:
    failure = Failure(details.get("error"), details.get("cause"))
    if (failure.error or failure.cause) and failure not in visit.failures[-1:]:
        visit = replace(visit, failures=(*visit.failures, failure))
    if name.startswith("task") and visit.attempts:
        visit = replace(visit, attempts=(*visit.attempts[:-1], replace(visit.attempts[-1], failure=failure)))
    if name not in ENDS:
        return replace(visit, outcome="failed")
    return visit if visit.exited_at else replace(visit, outcome="stopped" if name in STOPPED else "failed")
