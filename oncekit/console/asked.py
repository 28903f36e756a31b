"""What is asked of the list of operations: by words, times, status and operation, all of it in the page's address."""

from __future__ import annotations

import calendar
import datetime
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
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
TIMES = "10:00, 10.00, 3:54 pm, 10:00-10:10, 10-11 am, today, yesterday, Nov 28, 2026-01-31 and 2026-01-31T10:00"
"""Examples of the times that are understood."""
_CLOCK = r"\d{1,2}(?:[:.]\d\d(?::\d\d(?:\.\d+)?)?)?(?:\s*[ap]\.?m\b\.?)?"
_TO = r"\s*[-–]\s*|\s+(?:to|until)\s+"
_DATE = r"\d{4}-\d\d-\d\d"
_MONTHS = [name.lower() for name in calendar.month_abbr]
_MONTH = "|".join(f"{name[:3]}(?:{name[3:]})?" for name in map(str.lower, calendar.month_name[1:]))
_DAY = rf"(?:(?:{_MONTH})\.?\s+\d{{1,2}}|\d{{1,2}}\.?\s+(?:{_MONTH})\.?)(?:,?\s+20\d\d)?"
_TIME = rf"{'|'.join(DAYS)}|{_DATE}(?:t[\d:.]+(?:z|[+-][\d:]+)?)?|{_DAY}|{_CLOCK}(?:(?:{_TO}){_CLOCK})?"
_TIMES = re.compile(rf"""(?<![^\s#"'(])({_TIME})(?=[,.;?!"')]*(?:\s|$))""")
"""What may be a time, also of several words."""
_ONLY_A_TIME = re.compile(rf"{'|'.join(DAYS)}|{_DATE}|[\d.]+:[\d:.]+")
"""Any other may be text as well: 10.00 is an amount, too."""
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
        asks = int(most) if most.isdecimal() and len(most) < 9 else 0
        return cls(**said, most=asks or CHUNK, now=now, zone=zone)

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
    def _asked(self) -> Sequence[tuple[str, Holds | None]]:
        """Each word, and each time with what asks a moment for it."""
        asked: list[tuple[str, Holds | None]] = []
        for number, part in enumerate(_TIMES.split(self.text.lower())):
            holds = self._asks(part) if number % 2 else None
            words = [part] if holds else (word for each in part.split() if (word := each.strip("#,.;?!\"'()")))
            asked += ((word, holds) for word in words)
        return asked

    @cached_property
    def _words(self) -> Sequence[str]:
        return [word for word, holds in self._asked if not holds]

    @cached_property
    def _times(self) -> Sequence[tuple[str, Holds]]:
        """Each with the words that ask for it, if they may be text as well."""
        since = self.now - datetime.timedelta(minutes=int(self.when)) if self.when in MINUTES else None
        chosen = (lambda at: at > since) if since else self._asks(self.when) if self.when in DAYS else None
        times = [("" if _ONLY_A_TIME.fullmatch(word) else word, holds) for word, holds in self._asked if holds]
        return [*times, *([("", chosen)] if chosen else ())]

    def _asks(self, word: str) -> Holds | None:
        """What asks a moment for a day or a time of day; None for what is neither."""
        if day := _day(word, self.now.astimezone(self.zone).date()):
            return lambda at: at.astimezone(self.zone).date() == day
        if (then := self._moment(word)) is not None:
            return lambda at: abs(at - then) <= datetime.timedelta(minutes=AROUND_MIN)
        first, *last = re.split(_TO, word)
        until = _minute(last[0]) if last else None
        if (since := _minute(first, last[0] if last else "")) is None or (last and until is None):
            return None
        if until is not None and since > until and since != _minute(first):  # 11-1 pm
            since -= _DAY_MIN // 2
        around, length = (0, (until - since) % _DAY_MIN) if until is not None else (AROUND_MIN, 2 * AROUND_MIN)
        return lambda at: (self._minute_of(at) - since + around) % _DAY_MIN <= length

    def _moment(self, word: str) -> datetime.datetime | None:
        """A day with a time, as records and logs have it."""
        try:
            at = datetime.datetime.fromisoformat(word.upper())
            return (at if at.tzinfo else at.replace(tzinfo=self.zone)).astimezone(datetime.UTC)
        except (ValueError, OverflowError):  # the year 1, of which UTC may have less
            return None

    def _minute_of(self, at: datetime.datetime) -> int:
        local = at.astimezone(self.zone)
        return local.hour * 60 + local.minute


def _day(word: str, today: datetime.date) -> datetime.date | None:
    """Without a year the last one that is not to come."""
    if word in DAYS:
        return today - datetime.timedelta(days=DAYS.index(word))
    with suppress(ValueError):
        return datetime.date.fromisoformat(word)
    if found := re.search(_MONTH, word):
        day, *year = map(int, re.findall(r"\d+", word))
        for each in year or range(today.year, today.year - 9, -1):  # of a 29 February
            with suppress(ValueError):
                at = datetime.date(each, _MONTHS.index(found[0][:3]), day)
                if year or at <= today:
                    return at
    return None


def _minute(word: str, like: str = "") -> int | None:
    """Of the day; None where it is no time of day. Where it does not say am or pm, it is as `like`."""
    hour, *rest = map(int, re.findall(r"\d+", word))
    minute, second, *_ = (*rest, 0, 0)
    half = re.search("[ap]", word) or (hour <= 12 and re.search("[ap]", like))
    if half and 1 <= hour <= 12:
        hour = hour % 12 + (12 if half[0] == "p" else 0)
    elif half or not rest:
        return None
    at = hour * 60 + minute
    return at if minute < 60 and second < 60 and at <= _DAY_MIN else None
