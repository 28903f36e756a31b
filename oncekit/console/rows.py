"""What the page lists: executions, and what waits."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from oncekit.console.run import Outcome

Log = Mapping[tuple[int, int], Sequence[str]]
"""Lines that a function printed, by the number of the visit and of its attempt, which counts from 0."""


class Unknown(LookupError):
    """There is no such execution or record, or no longer."""


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
    way: Sequence[tuple[str, Outcome]] = ()
    """The states that it entered, and what became of each."""


@dataclass(frozen=True)
class RefusedRequest:
    """A refused request that is kept."""

    error: str
    message: str
    id: str
    """Empty where it has none."""
    arn: str
    """The execution that refused it."""
    at: str
    """When it came."""
    prospect: str
    """Why it surely gets no further when it is started again; empty where it may."""
