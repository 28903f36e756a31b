"""What is asked of the list of operations: by words, times, status and operation, all of it in the page's address."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

CHUNK = 100
"""Rows that are sent at first; the page asks for as many more as it is scrolled."""
MINUTES = ("5", "60")
WHEN = {"5": "Last 5 minutes", "60": "Last hour", "today": "Today", "yesterday": "Yesterday"}
"""Minutes, or a day: what a filter calls them."""
DAYS = ("today", "yesterday")
AROUND_MIN = 5
"""Minutes around a time of day that is searched: people say ten for two minutes past ten."""
TIMES = "10:00, 10.00, 3:54 pm, 10 am, 10:00-10:10, today, yesterday, 2026-01-31 and 2026-01-31T10:00"
"""Examples of the times that are understood."""
_TIME = re.compile(r"(\d{1,2}):(\d\d)(?::\d\d(?:\.\d+)?)?")
_HALF = re.compile(r"(\d{1,2})(?:[:.](\d\d)(?::\d\d(?:\.\d+)?)?)?([ap])m")
"""Of a day of twelve hours."""
_POINT = re.compile(r"(\d{1,2})\.(\d\d)")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_SINCE_UNTIL = re.compile(r"([\d:.]+(?:[ap]m)?)-([\d:.]+(?:[ap]m)?)")
_SPACED_HALF = re.compile(r"(?<=\d)\s*([ap])(?:m\b|\.m\b\.?)")
_CLOCK = r"(?:\d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?(?:[ap]m)?|\d{1,2}(?:\.\d\d)?[ap]m)"
_SPACED_TO = re.compile(rf"(?<!\S)({_CLOCK})\s*(?:-|–|\bto\b|\buntil\b)\s*({_CLOCK})(?!\S)")
_DAY_MIN = 24 * 60
Holds = Callable[[datetime.datetime], bool]


class Listed(Protocol):
    """What of an operation is asked for."""

    @property
    def parts(self) -> Sequence[str]: ...

    @property
    def moments(self) -> Sequence[datetime.datetime]: ...

    def said(self) -> Iterator[str]: ...


@dataclass(frozen=True)
class Filter:
    """What is empty matches all. Days and times of day are those of the zone, None for this machine's."""

    status: str = ""
    text: str = ""
    operation: str = ""
    when: str = ""
    most: int = CHUNK
    now: datetime.datetime = field(default_factory=lambda: datetime.datetime.now(datetime.UTC))
    zone: datetime.tzinfo | None = None

    @classmethod
    def of(cls, asked: Mapping[str, str], now: datetime.datetime, zone: datetime.tzinfo | None) -> Filter:
        most = asked.get("most", "")
        said = {name: asked.get(name, "").strip() for name in ("status", "text", "operation", "when")}
        return cls(**said, most=int(most) if most.isdecimal() and len(most) < 9 else CHUNK, now=now, zone=zone)

    @property
    def address(self) -> Mapping[str, str]:
        """What the page's address says of it."""
        said = {"text": self.text, "status": self.status, "operation": self.operation, "when": self.when}
        return {name: each for name, each in said.items() if each}

    def matches(self, listed: Listed) -> bool:
        """Whatever its status is: each word is somewhere in it, and all times are those of one moment of it."""
        if self.operation and [*listed.parts[1:2]] != [self.operation]:
            return False
        said = " ".join(listed.said()).lower() if self._words or any(word for word, _ in self._times) else ""
        times = [holds for word, holds in self._times if not word or word not in said]
        if times and not any(all(holds(at) for holds in times) for at in listed.moments):
            return False
        return all(word in said for word in self._words)

    @cached_property
    def _words(self) -> Sequence[str]:
        return [word for word in _words_of(self.text) if not self._asks(word)]

    @cached_property
    def _times(self) -> Sequence[tuple[str, Holds]]:
        """Each with the word that asks for it, if that may be text as well: 10.00 is an amount, too."""
        asked = [(word, self._asks(word)) for word in (*_words_of(self.text), self.when)]
        since = self.now - datetime.timedelta(minutes=int(self.when)) if self.when in MINUTES else None
        times = [("" if _is_only_a_time(word) else word, holds) for word, holds in asked if holds]
        return [*times, *([("", lambda at: at > since)] if since else ())]

    def _asks(self, word: str) -> Holds | None:
        """What asks a moment for a day or a time of day; None for any other word."""
        if word in DAYS or _DAY.fullmatch(word):
            today = self.now.astimezone(self.zone).date()
            days = {"today": today, "yesterday": today - datetime.timedelta(days=1)}
            return lambda at: str(at.astimezone(self.zone).date()) == str(days.get(word, word))
        if (then := self._moment(word)) is not None:
            return lambda at: abs(at - then) <= datetime.timedelta(minutes=AROUND_MIN)
        if (minute := _minute(word)) is not None:
            return lambda at: _apart(self._minute_of(at), minute) <= AROUND_MIN
        if found := _SINCE_UNTIL.fullmatch(word):
            since, until = _minute(found[1]), _minute(found[2])
            if since is not None and until is not None:
                return lambda at: (self._minute_of(at) - since) % _DAY_MIN <= (until - since) % _DAY_MIN
        return None

    def _moment(self, word: str) -> datetime.datetime | None:
        """A day with a time, as records and logs have it."""
        if not _DAY.match(word):
            return None
        try:
            at = datetime.datetime.fromisoformat(word.upper())
            return (at if at.tzinfo else at.replace(tzinfo=self.zone)).astimezone(datetime.UTC)
        except (ValueError, OverflowError):  # the year 1, of which UTC may have less
            return None

    def _minute_of(self, at: datetime.datetime) -> int:
        local = at.astimezone(self.zone)
        return local.hour * 60 + local.minute


def _is_only_a_time(word: str) -> bool:
    return word in DAYS or bool(_TIME.fullmatch(word) or _DAY.fullmatch(word))


def _minute(word: str) -> int | None:
    """Of the day; None where it is no time of day."""
    if found := _HALF.fullmatch(word):
        hour, minute = int(found[1]), int(found[2] or 0)
        is_one = 1 <= hour <= 12 and minute < 60
        return (hour % 12 + (12 if found[3] == "p" else 0)) * 60 + minute if is_one else None
    if found := _TIME.fullmatch(word) or _POINT.fullmatch(word):
        hour, minute = int(found[1]), int(found[2])
        return hour * 60 + minute if hour <= 24 and minute < 60 else None
    return None


def _words_of(text: str) -> Sequence[str]:
    """A time of several words, as `3:54 pm` and `10:00 to 10:10`, is one."""
    told = _SPACED_TO.sub(r"\1-\2", _SPACED_HALF.sub(r"\1m", text.lower()))
    return [word for each in told.split() if (word := each.strip("#,.;?!\"'()"))]


def _apart(one: int, other: int) -> int:
    """Minutes between two times of day, also around midnight."""
    apart = abs(one - other) % _DAY_MIN
    return min(apart, _DAY_MIN - apart)
