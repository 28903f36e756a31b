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
AROUND_MIN = 5
"""Minutes around a time of day that is searched: people say ten for two minutes past ten."""
_TIME = re.compile(r"(\d{1,2}):(\d\d)(?::\d\d)?")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
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
        if self._times and not any(all(holds(at) for holds in self._times) for at in listed.moments):
            return False
        said = " ".join(listed.said()).lower() if self._words else ""
        return all(word in said for word in self._words)

    @cached_property
    def _words(self) -> Sequence[str]:
        return [word for word in _words_of(self.text) if not self._asks(word)]

    @cached_property
    def _times(self) -> Sequence[Holds]:
        asked = [self._asks(word) for word in (*_words_of(self.text), self.when)]
        since = self.now - datetime.timedelta(minutes=int(self.when)) if self.when in MINUTES else None
        return [*(holds for holds in asked if holds), *([lambda at: at > since] if since else ())]

    def _asks(self, word: str) -> Holds | None:
        """What asks a moment for a day or a time of day; None for any other word."""
        if word in ("today", "yesterday") or _DAY.fullmatch(word):
            today = self.now.astimezone(self.zone).date()
            days = {"today": today, "yesterday": today - datetime.timedelta(days=1)}
            return lambda at: str(at.astimezone(self.zone).date()) == str(days.get(word, word))
        if found := _TIME.fullmatch(word):
            minute = int(found[1]) * 60 + int(found[2])
            return lambda at: _apart(at.astimezone(self.zone), minute) <= AROUND_MIN
        return None


def _words_of(text: str) -> Sequence[str]:
    return [word for each in text.lower().split() if (word := each.strip("#,.;?!\"'()"))]


def _apart(at: datetime.datetime, minute: int) -> float:
    """Minutes between two times of day, also around midnight."""
    apart = abs(at.hour * 60 + at.minute - minute) % _DAY_MIN
    return min(apart, _DAY_MIN - apart)
