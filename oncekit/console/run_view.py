"""What a page says of a run beside its visits: how it ended, its facts, and where the bars of its time line are."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass

from oncekit.console.json_text import members_of
from oncekit.console.picture import SIGNS
from oncekit.console.run import RUNNING, Run, Visit
from oncekit.console.summary import Part
from oncekit.console.words import duration

BAR = 1000
"""Units of width that the whole time of a run has."""
LEAST_BAR = 6
SHOWN = 12
"""States of a long run that are shown at its beginning, and at its end."""


@dataclass(frozen=True)
class Span:
    """The time of a run, and what part of it something took."""

    began: datetime.datetime
    end: datetime.datetime

    @classmethod
    def of(cls, run: Run, now: datetime.datetime) -> Span:
        """What still runs lasts until now."""
        return cls(run.started_at, run.ended_at or max(now, run.started_at))

    @property
    def seconds(self) -> float:
        return (self.end - self.began).total_seconds()

    def lasted(self, visit: Visit) -> str:
        return duration(((visit.exited_at or self.end) - visit.entered_at).total_seconds())

    def bar(self, entered: datetime.datetime, exited: datetime.datetime | None) -> tuple[int, int]:
        """Where a bar begins, and how wide it is."""
        whole = max(self.seconds, 0.001)
        before, lasted = (entered - self.began).total_seconds(), ((exited or self.end) - entered).total_seconds()
        x = min(round(before / whole * BAR), BAR - LEAST_BAR)
        return x, min(max(round(lasted / whole * BAR), LEAST_BAR), BAR - x)

    def bars(self, visit: Visit) -> Sequence[tuple[int, int, str]]:
        """Of a visit and of each of its calls: where the bar begins, how wide it is, and its class."""
        calls = [
            (*self.bar(each.began_at, each.ended_at), "part failed" if each.failure else "part")
            for each in visit.attempts
        ]
        return [(*self.bar(visit.entered_at, visit.exited_at), "wait" if calls else "part"), *calls]


def kind_and_outcome(run: Run, part: Part) -> tuple[str, str]:
    """The class of an execution's colour and sign, and its end in the word that commands use, too.

    What a duplicate gets is an answer, also where that is the failure of another one.
    """
    if run.status == RUNNING:
        return "running", "RUNNING"
    if run.status != "SUCCEEDED":
        kind = "failed" if run.status == "FAILED" else "stopped"
        return ("replayed" if part.role == "duplicate" else kind), run.error or run.status
    disposition = str(members_of(run.output).get("disposition") or run.status)
    return ("succeeded" if disposition in ("EXECUTED", run.status) else "replayed"), disposition


def sign_of(kind: str) -> str:
    return _SIGNS[kind]


_SIGNS = {str(outcome): sign for outcome, sign in SIGNS.items()} | {"replayed": "↻"}


def folded(run: Run) -> tuple[int, int, int] | None:
    """What of a long run is folded up: from and to which state, and how many attempts are among them."""
    first, last = SHOWN, len(run.visits) - SHOWN
    if last - first < SHOWN // 2:
        return None
    return first, last, sum(each.state == "ExecuteBusinessLogic" for each in run.visits[first:last])
