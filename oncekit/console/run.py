"""A run: what an execution did, state by state. Made of its description and the events of its history.

Events tell by `previousEventId` what they follow, so the branches of a Map or a Parallel, whose events alternate, are
told apart. What a run looks like is the same here and on AWS.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from oncekit.console.events import (
    BRANCH_FAILED,
    BRANCHES_ENDED,
    BRANCHES_FAILED,
    ENDS,
    ENTERED,
    EXECUTION_FAILED,
    EXITED,
    FAILURES,
    REDRIVEN,
    SCHEDULED,
    TASK_SUCCEEDED,
    Raw,
    details_of,
    kind_of,
    moment,
    time_of,
    type_of_state,
)

Outcome = Literal["succeeded", "caught", "failed", "stopped", "running", "redriven"]
"""How a visit ended: `caught` left by a Catch, `stopped` had the execution ended from outside; `redriven` is none of
a state, but of a redrive, which stands among the visits."""
RUNNING = "RUNNING"
BRANCHING = ("Map", "Parallel")


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
    began_at: datetime.datetime
    ended_at: datetime.datetime | None
    failure: Failure | None

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
    """Task, Choice, Wait, Pass, Succeed, Fail, Map or Parallel; empty for a redrive."""
    outcome: Outcome
    entered_at: datetime.datetime
    exited_at: datetime.datetime | None
    input: str | None
    output: str | None
    variables: Mapping[str, str]
    """Those that the state assigned."""
    attempts: Sequence[Attempt]
    failures: Sequence[Failure]
    """Also those that were retried."""
    events: Sequence[int]
    parent: int | None = None
    """The visit of the Map or Parallel that it is within."""

    @property
    def retries(self) -> int:
        return max(0, len(self.attempts) - 1)


@dataclass(frozen=True)
class Event:
    """An event of the history, and the visit that it belongs to, None before the first one."""

    id: int
    kind: str
    at: datetime.datetime
    visit: int | None
    details: Mapping[str, Any]


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
    events: Sequence[Event]

    @property
    def name(self) -> str:
        """Of an execution in the fast lane without the part that Step Functions adds."""
        return self.arn.split(":")[7]

    @property
    def path(self) -> tuple[str, ...]:
        """The states in the order in which they were entered, redrives left out."""
        return tuple(each.state for each in self.visits if each.outcome != "redriven")

    @property
    def transitions(self) -> int:
        """What AWS bills: every state entered, and every retry."""
        return len(self.path) + sum(each.retries for each in self.visits)


def run_of(description: Mapping[str, Any], events: Iterable[Raw]) -> Run:
    """A run, made of DescribeExecution's answer and the events of its history, the oldest first."""
    status = str(description["status"])
    reading = _Reading()
    for event in events:
        reading.read(event)
    started = description.get("startDate") or (reading.events[0].at if reading.events else None)
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
        visits=[each.closed(status == RUNNING and reading.goes_on_around(each)) for each in reading.visits],
        events=reading.events,
    )


@dataclass
class _Open:
    """A visit while its events are read."""

    number: int
    state: str
    type: str
    entered_at: datetime.datetime
    input: str | None
    parent: int | None = None
    exited_at: datetime.datetime | None = None
    output: str | None = None
    variables: Mapping[str, str] = field(default_factory=dict)
    attempts: list[Attempt] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    events: list[int] = field(default_factory=list)
    has_failed: bool = False
    """Whether what came last is a failure: a state that goes on all the same has caught it."""
    has_ended: bool = False
    """Whether the execution, or the branch that it is in, ended here, without success."""
    was_stopped: bool = False
    """Whether it ended from outside."""

    def closed(self, goes_on: bool) -> Visit:
        return Visit(
            number=self.number,
            state=self.state,
            type=self.type,
            outcome=self._outcome(goes_on),
            entered_at=self.entered_at,
            exited_at=self.exited_at,
            input=self.input,
            output=self.output,
            variables=self.variables,
            attempts=tuple(self.attempts),
            failures=tuple(self.failures),
            events=tuple(self.events),
            parent=self.parent,
        )

    def _outcome(self, goes_on: bool) -> Outcome:
        if self.state == REDRIVEN and not self.type:
            return "redriven"
        if self.exited_at is not None:
            return "caught" if self.has_failed else "succeeded"
        if self.has_ended:
            return "stopped" if self.was_stopped else "failed"
        if goes_on:
            return "running"  # also where a call failed: it will be repeated
        return "failed" if self.has_failed else "stopped"

    def note(self, event: Raw, at: datetime.datetime) -> None:
        if EXITED in event:
            details = event[EXITED]
            self.exited_at, self.output = at, details.get("output")
            self.variables = details.get("assignedVariables") or {}
        elif SCHEDULED in event:
            details = event[SCHEDULED]
            resource = f"{details['resourceType']}:{details['resource']}"
            self.attempts.append(Attempt(resource, details.get("parameters"), at, None, None))
            self.has_failed = False
        elif kind_of(event) == TASK_SUCCEEDED:
            self._end_attempt(at, None)
        elif kind_of(event) in BRANCHES_ENDED:
            self.has_failed = kind_of(event) in BRANCHES_FAILED
        elif kind_of(event) == BRANCH_FAILED:
            self.has_ended = True
        else:
            self._note_failures(event, at)

    def _note_failures(self, event: Raw, at: datetime.datetime) -> None:
        for kind in (*FAILURES, *ENDS):
            if kind not in event:
                continue
            failure = Failure(event[kind].get("error"), event[kind].get("cause"))
            if (failure.error or failure.cause) and failure not in self.failures[-1:]:
                self.failures.append(failure)
            if kind in ENDS:
                self.has_ended, self.was_stopped = True, kind != EXECUTION_FAILED
            else:
                self.has_failed = True
                self._end_attempt(at, failure)

    def _end_attempt(self, at: datetime.datetime, failure: Failure | None) -> None:
        if self.attempts and self.attempts[-1].ended_at is None:
            last = self.attempts[-1]
            self.attempts[-1] = Attempt(last.resource, last.parameters, last.began_at, at, failure)


class _Reading:
    """Reads events one after the other."""

    def __init__(self) -> None:
        self.visits: list[_Open] = []
        self.events: list[Event] = []
        self._visit_of: dict[int, _Open] = {}

    def read(self, event: Raw) -> None:
        at, number = time_of(event), int(event["id"])
        if ENTERED in event or kind_of(event) == REDRIVEN:
            visit: _Open | None = self._enter(event, at)
        elif (visit := self._belonging(event)) is not None:
            visit.note(event, at)
        if visit is not None:
            self._visit_of[number] = visit
            visit.events.append(number)
        of = None if visit is None else visit.number
        self.events.append(Event(number, kind_of(event), at, of, details_of(event)))

    def _enter(self, event: Raw, at: datetime.datetime) -> _Open:
        details = event.get(ENTERED)
        if details is None:
            visit = _Open(len(self.visits) + 1, REDRIVEN, "", at, None, exited_at=at)
        else:
            kind, within = type_of_state(event), self._within(event)
            visit = _Open(len(self.visits) + 1, details["name"], kind, at, details.get("input"), within)
            visit.has_ended = kind == "Fail"
        self.visits.append(visit)
        return visit

    def _within(self, event: Raw) -> int | None:
        follows = self._visit_of.get(int(event.get("previousEventId", 0)))
        if follows is None:
            return None
        return follows.number if follows.type in BRANCHING and follows.exited_at is None else follows.parent

    def goes_on_around(self, visit: _Open) -> bool:
        """Whether no Map or Parallel that a visit is within has been left; after one was, nothing goes on in it."""
        if visit.parent is None:
            return True
        around = self._around(visit)
        return around.exited_at is None and self.goes_on_around(around)

    def _around(self, visit: _Open) -> _Open:
        assert visit.parent is not None
        return self.visits[visit.parent - 1]

    def _belonging(self, event: Raw) -> _Open | None:
        """The visit that an event follows; an exit belongs to the state that it names, an end of branches to theirs."""
        follows = self._visit_of.get(int(event.get("previousEventId", 0)))
        if EXITED in event:
            name = event[EXITED]["name"]
            if follows is not None and follows.state == name and follows.exited_at is None:
                return follows
            return next((v for v in reversed(self.visits) if v.state == name and v.exited_at is None), follows)
        if follows is None:
            return self.visits[-1] if self.visits else None
        is_theirs = follows.type in BRANCHING and follows.exited_at is None and not follows.has_failed
        if kind_of(event) in BRANCHES_ENDED and follows.parent is not None and not is_theirs:
            return self._around(follows)
        return follows
