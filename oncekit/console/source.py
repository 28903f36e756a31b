"""What the console needs of a place where operations run: the local cloud, or a stack on AWS."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from oncekit.console.machine import Definition
from oncekit.console.run import Outcome, Run

Log = Mapping[tuple[int, int], Sequence[str]]
"""Lines that a function printed, by the number of the visit and of its attempt, which counts from 0."""


@dataclass(frozen=True)
class Printed:
    """Lines of a log that were asked for, and what is to be said beside them, or in their place."""

    lines: Sequence[str]
    told: str = ""


class Unknown(LookupError):
    """There is no such execution or record, or no longer."""


class Refused(Exception):
    """What was asked for was not done; the message says why."""


@dataclass(frozen=True)
class Call:
    """A call of the HTTP API."""

    at: datetime.datetime
    seconds: float
    method: str
    path: str
    status: int
    key: str
    """The idempotency key; empty where there was none."""
    arn: str
    """The execution that it started; empty where it started none."""


@dataclass(frozen=True)
class Row:
    """An execution as it is listed."""

    arn: str
    name: str
    id: str
    """Empty where its input names none."""
    operation: str
    tenant: str
    key: str
    lane: str
    kind: str
    """The class of its colour and sign: succeeded, replayed, failed, stopped or running."""
    outcome: str
    """EXECUTED, REPLAYED, IN_PROGRESS, an error's name, or the status."""
    started_at: datetime.datetime
    ended_at: datetime.datetime | None
    attempt: int | None = None
    """Of its business logic, as its answer says; None where it does not."""
    is_read: bool = True
    """Whether what it was given and what it answered were read; a list of a stack tells neither."""


@dataclass(frozen=True)
class Message:
    """A refused request that is kept."""

    error: str
    message: str
    id: str
    arn: str
    """The execution that refused it."""
    text: str
    """The request, as JSON; empty where it was not kept."""


@dataclass(frozen=True)
class Prospect:
    """What would become of a refused request that is started again, as far as that can be known before."""

    is_stuck: bool
    """Whether it surely gets no further."""
    why: str


@dataclass(frozen=True)
class Waiting:
    """What waits for somebody, or for recovery."""

    records: Sequence[Mapping[str, Any]]
    """Open ones: in progress, or quarantined."""
    refused: Sequence[Message]
    queues: Mapping[str, int]
    """Messages in each queue, by its name."""


class LogReader(Protocol):
    """Reads a log when somebody asks for it, because each reading costs. Both raise Unknown with the reason."""

    def of_attempt(self, run: Run, visit: int, attempt: int) -> Printed:
        """What a function printed in an attempt, which counts from 0."""

    def of_id(self, id: str) -> Printed:
        """What the function of an id's operation printed for it, as far as its lines tell."""


class Source(Protocol):
    """Where executions and records are read. Every method may be called by several threads at once."""

    name: str
    """`the local cloud`, or `stack once in eu-central-1`."""
    read_only: bool
    ticks: bool
    """Whether time there goes on by itself, as on a wall clock."""
    log_reader: LogReader | None
    """None where `log` knows all."""

    def now(self) -> datetime.datetime:
        """The time there, which the local cloud's clock may have moved."""

    def rows(self) -> Sequence[Row]:
        """Executions of both lanes, the newest first."""

    def way(self, arn: str) -> Sequence[tuple[str, Outcome]]:
        """The states that an execution entered, and what became of each."""

    def run(self, arn: str) -> tuple[Run, Definition | None]:
        """A run, and the definition that it follows. Raises Unknown."""

    def record(self, id: str) -> Mapping[str, Any] | None:
        """The record of an id, in plain values."""

    def result(self, id: str) -> str:
        """A result that is kept apart from its record. Raises Unknown."""

    def log(self, run: Run) -> Log:
        """What functions printed in a run; empty where nobody knows without asking for it."""

    def calls(self) -> Sequence[Call] | None:
        """Calls of the HTTP API, the newest first; None where they are not watched."""

    def waiting(self) -> Waiting:
        """Open records, refused requests, and messages in queues."""

    def version(self) -> int:
        """A number that grows with every change of what is listed."""

    def wait(self, version: int, seconds: float) -> int:
        """The version, as soon as it is another one, or after this many seconds."""

    def size(self, arn: str) -> int:
        """How many events an execution has; a look at it costs little. 0 where nobody knows."""


class Actions(Protocol):
    """What can be done from the page. Each says what it did, or raises Refused with the reason."""

    def start(self, text: str, times: int, lane: str, fault: str = "") -> str:
        """Start a request `times` times; the fault, if one is named, happens in the first execution."""

    def faults(self) -> Mapping[str, str]:
        """What can go wrong on purpose: a sentence for each name."""

    def stop(self, arn: str) -> str:
        """End an execution as if its owner had died."""

    def ahead(self) -> float | None:
        """Seconds that the clock is ahead of the wall clock; None where it cannot be moved."""

    def advance(self, seconds: float) -> str:
        """Move the clock forward."""

    def replay(self, error: str) -> str:
        """Start the refused requests with this error again."""

    def discard(self, error: str) -> str:
        """Delete the refused requests with this error."""

    def prospect(self, message: Message) -> Prospect:
        """What would become of a refused request that is started again."""

    def retry(self, id: str) -> str: ...

    def release(self, id: str) -> str: ...

    def resolve(self, id: str, result: str | None, failed: str | None) -> str: ...

    def events(self) -> Mapping[str, str]:
        """Requests to start from, by name: those in `events/`."""
