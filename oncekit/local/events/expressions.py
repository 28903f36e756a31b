"""Schedule expressions: `rate(5 minutes)`, `cron(0 9 ? * MON-FRI *)`, and `at(2026-01-31T09:00:00)`, which is once.

EventBridge Scheduler User Guide, *Schedule types*: the fields of cron are minutes, hours, day of month, month, day of
week (1 is Sunday), year, with `, - * ? / L W #`. The time is UTC, or that of the schedule's time zone.
"""

from __future__ import annotations

import calendar
import datetime
import re
from collections.abc import Callable
from dataclasses import dataclass
from zoneinfo import ZoneInfo

Turns = Callable[[float], float | None]
"""The first turn after an instant; None when there is none. Epoch seconds."""

_RATE = re.compile(r"rate\(\s*([1-9]\d*)\s+(minute|hour|day)s?\s*\)")
_CRON = re.compile(r"cron\(\s*(\S+)\s+(\S+)\s+(\S+)\s+(\S+)\s+(\S+)\s+(\S+)\s*\)")
_AT = re.compile(r"at\(\s*(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\s*\)")
_SECONDS = {"minute": 60, "hour": 3600, "day": 86_400}
_MONTHS = {name.upper(): number for number, name in enumerate(calendar.month_abbr) if name}
_DAYS = {name: number for number, name in enumerate(("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"), 1)}
_LAST_YEAR = 2199
_MOST_DAYS = 366 * 8
"""In which every date of a cron expression comes, but for a year of its own."""


def period_of(expression: str) -> float | None:
    """Seconds between two turns of a rate, None for any other."""
    rate = _RATE.fullmatch(expression)
    return float(int(rate[1]) * _SECONDS[rate[2]]) if rate else None


def turns_of(expression: str, zone: str = "UTC") -> Turns:
    """Raises ValueError for what AWS would refuse."""
    if (period := period_of(expression)) is not None:
        return lambda after: after + period
    if (once := _AT.fullmatch(expression)) is not None:
        instant = datetime.datetime.fromisoformat(once[1]).replace(tzinfo=_zone(zone)).timestamp()
        return lambda after: instant if instant > after else None
    if (fields := _CRON.fullmatch(expression)) is not None:
        return _Cron.of(zone, *fields.groups()).after
    raise ValueError(f"{expression} is neither rate(...), cron(...) of six fields, nor at(...)")


def _zone(name: str) -> datetime.tzinfo:
    """UTC is there on a machine without a list of zones, too."""
    return datetime.UTC if name == "UTC" else ZoneInfo(name)


@dataclass(frozen=True)
class _Cron:
    minutes: frozenset[int]
    hours: frozenset[int]
    day: str
    """Of the month."""
    months: frozenset[int]
    weekday: str
    years: frozenset[int]
    zone: datetime.tzinfo

    @classmethod
    def of(cls, zone: str, minutes: str, hours: str, day: str, months: str, weekday: str, years: str) -> _Cron:
        if "?" not in (day, weekday):
            raise ValueError(f"one of the day of the month, {day}, and of the week, {weekday}, must be ?")
        made = cls(
            _numbers(minutes, 0, 59),
            _numbers(hours, 0, 23),
            day,
            _numbers(months, 1, 12, _MONTHS),
            weekday.upper(),
            _numbers(years, 1970, _LAST_YEAR),
            _zone(zone),
        )
        made._is_on(datetime.date(2000, 1, 1))  # reads all of it
        return made

    def after(self, instant: float) -> float | None:
        start = datetime.datetime.fromtimestamp(instant, self.zone)
        first = start.date()
        if first.year not in self.years:
            years = [each for each in self.years if each > first.year]
            if not years:
                return None
            first = datetime.date(min(years), 1, 1)
        for ahead in range(_MOST_DAYS):
            date = first + datetime.timedelta(ahead)
            if date.year not in self.years or date.month not in self.months or not self._is_on(date):
                continue
            for hour in sorted(self.hours):
                for minute in sorted(self.minutes):
                    time = datetime.time(hour, minute, tzinfo=self.zone)
                    turn = datetime.datetime.combine(date, time).timestamp()
                    if turn > instant:
                        return turn
        return None

    def _is_on(self, date: datetime.date) -> bool:
        return _is_day(self.day, date) if self.weekday == "?" else _is_weekday(self.weekday, date)


def _is_day(field: str, date: datetime.date) -> bool:
    last = calendar.monthrange(date.year, date.month)[1]
    if field == "L":
        return date.day == last
    if nearest := re.fullmatch(r"(\d+)W", field):
        wanted = datetime.date(date.year, date.month, min(int(nearest[1]), last))
        if wanted.weekday() == calendar.SATURDAY:
            wanted += datetime.timedelta(-1 if wanted.day > 1 else 2)
        elif wanted.weekday() == calendar.SUNDAY:
            wanted += datetime.timedelta(1 if wanted.day < last else -2)
        return date == wanted
    return date.day in _numbers(field, 1, 31)


def _is_weekday(field: str, date: datetime.date) -> bool:
    weekday = date.isoweekday() % 7 + 1
    if of_month := re.fullmatch(r"(\w+)#([1-5])", field):
        return _number(of_month[1], _DAYS) == weekday and (date.day - 1) // 7 + 1 == int(of_month[2])
    if field != "L" and (final := re.fullmatch(r"(\w+)L", field)):
        is_last = date.day + 7 > calendar.monthrange(date.year, date.month)[1]
        return _number(final[1], _DAYS) == weekday and is_last
    return weekday in ({7} if field == "L" else _numbers(field, 1, 7, _DAYS))


def _numbers(field: str, least: int, most: int, names: dict[str, int] | None = None) -> frozenset[int]:
    """What a field stands for. Raises ValueError."""
    found: set[int] = set()
    for part in field.split(","):
        span, _, step = part.partition("/")
        first, to, last = span.partition("-")
        if span in ("*", "?"):
            start, end = least, most
        else:
            start = _number(first, names or {})
            end = _number(last, names or {}) if to else most if step else start
        if not least <= start <= most or not least <= end <= most or (step and int(step) < 1):
            raise ValueError(f"{part} is not between {least} and {most}")
        whole = range(start, end + 1) if start <= end else [*range(start, most + 1), *range(least, end + 1)]
        found.update(whole[:: int(step or 1)])
    return frozenset(found)


def _number(text: str, names: dict[str, int]) -> int:
    return names[text.upper()] if text.upper() in names else int(text)
