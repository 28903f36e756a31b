"""Times and durations as people read them."""

from __future__ import annotations

import datetime
from typing import Any

_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"))


def duration(seconds: float) -> str:
    """`840 ms`, `1.2 s`, `2 min 5 s`, `3 h 20 min`."""
    if seconds < 1:
        return f"{round(max(0.0, seconds) * 1000)} ms"
    if seconds < 60:
        return f"{seconds:.1f} s".replace(".0 s", " s")
    whole = round(seconds)
    size, unit = next(each for each in _UNITS if whole >= each[0])
    smaller, smaller_unit = next(((s, u) for s, u in _UNITS if s < size), (1, "s"))
    rest = whole % size // smaller
    return f"{whole // size} {unit}" + (f" {rest} {smaller_unit}" if rest else "")


def day_and_time(at: datetime.datetime) -> str:
    return f"{at.astimezone(datetime.UTC):%Y-%m-%d %H:%M:%S} UTC"


def moment(at: Any) -> datetime.datetime:
    """A time as boto3 gives it, or the local cloud's text."""
    return at if isinstance(at, datetime.datetime) else datetime.datetime.fromisoformat(at)


def iso(at: datetime.datetime | None) -> str | None:
    """As people and programs read it: UTC, with milliseconds."""
    return at.astimezone(datetime.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z") if at else None
