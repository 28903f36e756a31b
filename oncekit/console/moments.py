"""The moments of an operation's timeline, and what they come to: how long it took, and what it waited for."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from oncekit.console.parts import NAMED
from oncekit.console.words import duration, moment
from oncekit.contract.words import RELEASED

Kind = Literal[
    "asked",
    "owner",
    "ran",
    "failed",
    "died",
    "waited",
    "elsewhere",
    "paused",
    "unknown",
    "person",
    "answer",
    "failure",
    "quarantined",
    "others",
]
SIGNS: Mapping[Kind, str] = {
    "asked": "→",
    "owner": "●",
    "ran": "✓",
    "failed": "↷",
    "died": "■",
    "waited": "○",
    "elsewhere": "○",
    "paused": "○",
    "unknown": "○",
    "person": "◆",
    "answer": "✓",
    "failure": "✗",
    "quarantined": "■",
    "others": "↻",
}
WAITS: Mapping[Kind, str] = {
    "waited": "the lease",
    "elsewhere": "work elsewhere",
    "paused": "another attempt",
    "quarantined": "a person",
}
ENDS: Mapping[Kind, str] = {"answer": "answered", "failure": "failed for good", "quarantined": "quarantined since"}


@dataclass(frozen=True)
class Moment:
    kind: Kind
    what: str
    at: datetime.datetime | None = None
    until: datetime.datetime | None = None
    """Of what lasted, or goes on."""
    executions: Sequence[str] = ()
    """Their ARNs, the newest first where there are more."""
    seconds: float | None = None
    """Seconds of what came in pieces; else it is from `at` to `until`."""
    is_minor: bool = False
    """What a sentence leaves out, since it says nothing of the effect, or of what comes next."""

    @property
    def sign(self) -> str:
        return SIGNS[self.kind]

    @property
    def lasted(self) -> str:
        """Empty for what took no time, or nobody knows how much."""
        seconds = between(self.at, self.until) if self.seconds is None else self.seconds
        return duration(seconds) if seconds >= 0.001 else ""


@dataclass(frozen=True)
class Story:
    moments: Sequence[Moment]
    asked: datetime.datetime | None
    """When the request came that began its last try."""
    ended: datetime.datetime | None
    end: str
    """`answered`, `failed for good`, `quarantined since`; `not answered yet` of what goes on."""
    lasts: str
    """How long in all, and how much of that it waited, and for what."""

    @property
    def told(self) -> str:
        """The same in sentences, without times; of duplicates at the end."""
        said = [each for each in self.moments if not each.is_minor] or self.moments[-1:]
        last = sorted(said, key=lambda each: each.kind == "others")
        return " ".join(f"{each.what.rstrip('.')}." for each in last) or "Nothing is known of it any more."

    @property
    def begins(self) -> datetime.datetime | None:
        """The first time of a moment; None where none has one."""
        return min((each.at for each in self.moments if each.at), default=None)

    @property
    def ends(self) -> datetime.datetime | None:
        """The last one; of duplicates that came later there may be many days."""
        of_itself = [each for each in self.moments if each.kind != "others"] or self.moments
        return max((each.until or each.at for each in of_itself if each.at), default=None)

    def total(self, at: Callable[[datetime.datetime], str]) -> str:
        """In one sentence, with times as they are told there; empty where nobody knows when it was asked."""
        if self.asked is None:
            return ""
        return f"asked {at(self.asked)}, {self.end}{f' {at(self.ended)}' if self.ended else ''}: {self.lasts}"


def in_order(told: Iterable[Moment]) -> list[Moment]:
    """By their times; one that has none stays behind the last of those that it was told after."""
    last = datetime.datetime.min.replace(tzinfo=datetime.UTC)
    timed: list[tuple[datetime.datetime, Moment]] = []
    for each in told:
        last = max(each.at or last, last)
        timed.append((each.at or last, each))
    return [each for _, each in sorted(timed, key=lambda pair: pair[0])]


def _until_decided(moments: Sequence[Moment], now: datetime.datetime) -> Iterator[Moment]:
    """A quarantine lasts until something goes on: where the decision is not kept any more, until that."""
    for number, each in enumerate(moments):
        goes_on = (after.at for after in moments[number + 1 :] if after.kind != "others" and after.at)
        yield replace(each, until=next(goes_on, now)) if each.kind == "quarantined" and each.at else each


def whole(told: Iterable[Moment], record: Mapping[str, Any], now: datetime.datetime) -> Story:
    """In order, with what they come to: its end is that of its record, if it has one."""
    moments = list(_until_decided(in_order(told), now))
    asked = next((n for n in range(len(moments) - 1, -1, -1) if moments[n].kind == "asked"), None)
    of_try = moments[asked:] if asked is not None else moments
    began = moments[asked].at if asked is not None else None
    of_itself = [each.kind for each in of_try if each.kind != "others"]
    goes_on = record.get("status") == "IN_PROGRESS" if record else of_itself and of_itself[-1] not in ENDS
    is_released = record.get("status") == "FAILED" and error_of_record(record).startswith(RELEASED)
    ends = [each for each in of_try if each.kind in ENDS or (is_released and each.kind == "person")]
    last = ends[-1] if ends and not goes_on else None
    end = ENDS.get(last.kind, "released") if last else "not answered yet" if goes_on else "ended"
    ended = last.at if last else None
    if began is None:
        return Story(moments, None, ended, end, "")
    is_over = last is not None and record.get("status") != "QUARANTINED"
    until = ended if is_over and ended else now
    lasts = duration((until - began).total_seconds()) + ("" if is_over else " so far")
    waited = " and ".join(_waited(of_try, began))
    return Story(moments, began, ended, end, f"{lasts}, of which {waited}" if waited else lasts)


def _waited(moments: Sequence[Moment], began: datetime.datetime) -> Iterator[str]:
    """For what it waited a second or longer in all."""
    for kind, of in WAITS.items():
        waits = [each for each in moments if each.kind == kind]
        seconds = sum(between(each.at or began, each.until) if each.seconds is None else each.seconds for each in waits)
        if seconds >= 1:
            most = "" if all(each.at for each in waits) else "at most "
            yield f"{most}{duration(seconds)} waiting for {of}"


def between(at: datetime.datetime | None, until: datetime.datetime | None) -> float:
    return (until - at).total_seconds() if at and until else 0.0


def error_of_record(record: Mapping[str, Any]) -> str:
    """Its name and message; a function with steps may have written anything there."""
    error = record.get("error")
    told = [error.get(name) for name in ("name", "message")] if isinstance(error, Mapping) else []
    return NAMED.sub("", ": ".join(each for each in told if isinstance(each, str)))


def time_of(told: object) -> datetime.datetime | None:
    """That in a record, where a function may have written any text; it is a time in every zone."""
    try:
        found = moment(told) if isinstance(told, str) else None
        at = found and (found if found.tzinfo else found.replace(tzinfo=datetime.UTC)).astimezone(datetime.UTC)
    except (ValueError, OverflowError):
        return None
    return at if at and datetime.MINYEAR < at.year < datetime.MAXYEAR else None


def at_epoch(told: object) -> datetime.datetime | None:
    """The same of one in epoch seconds."""
    try:
        return datetime.datetime.fromtimestamp(told, datetime.UTC) if isinstance(told, int | float) else None
    except (ValueError, OverflowError, OSError):
        return None
