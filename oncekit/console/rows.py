"""An execution as the page lists it."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from oncekit.console.summary import Part

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
    lane: str
    kind: str
    """The class of its colour and sign: succeeded, replayed, failed, stopped or running."""
    outcome: str
    """EXECUTED, REPLAYED, IN_PROGRESS, an error's name, or the status."""
    started_at: datetime.datetime
    ended_at: datetime.datetime | None
    part: Part
    """What it did for its operation."""
    given: str
    """The beginning of its input, as text, in which one searches."""
