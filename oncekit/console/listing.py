"""Which operations the page of requests lists: one row for each id, the one that something happened to last on top."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from oncekit.console.moments import RELEASED
from oncekit.console.parts import Part
from oncekit.console.summary import summary

CHUNK = 100
"""Rows that are sent at first; the page asks for as many more as it is scrolled."""
STATUSES = {
    "IN_PROGRESS": "In progress",
    "COMPLETED": "Completed",
    "FAILED": "Failed",
    "QUARANTINED": "Quarantined",
    "REFUSED": "Refused",
}
"""What a filter calls them; the same words as in records, but for a request that none was made for."""
WRITTEN = ("finishedAt", "pendingSince", "acquiredAt")
"""Times in a record, the latest first."""
Known = Mapping[str, object] | None
"""A record, if there is one."""


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


@dataclass(frozen=True)
class Filter:
    """What is asked for; what is empty matches all."""

    status: str = ""
    text: str = ""
    most: int = CHUNK

    @classmethod
    def of(cls, asked: Mapping[str, str]) -> Filter:
        most = asked.get("most", "")
        return cls(
            **{name: asked.get(name, "").strip() for name in ("status", "text")},
            most=int(most) if most.isdecimal() and len(most) < 9 else CHUNK,
        )

    def matches(self, listed: Operation) -> bool:
        """Whatever its status is."""
        text = self.text.lower()
        said = [each for row in listed.rows for each in (row.id, row.name, row.given)]
        if listed.alone:
            said += [str(listed.alone.get(name, "")) for name in ("id", "owner", "request")]
        return any(text in each.lower() for each in said)


@dataclass(frozen=True)
class Operation:
    """The executions of an id, the newest first; of a request without one, the one that refused it; or a record alone,
    which is of the direct lane, or whose executions nobody knows any more."""

    id: str
    rows: Sequence[Row]
    record_of: Callable[[str], Known]
    alone: Known = None

    @cached_property
    def record(self) -> Known:
        """Read only where it may say more than the executions do: what is open, a person may have ended; what has
        failed, a request in the direct lane may have tried again."""
        if self.alone is not None:
            return self.alone
        is_running = any(row.part.role == "running" or row.kind == "running" for row in self.rows)
        asks = bool(self.id) and not is_running and self._status in ("IN_PROGRESS", "QUARANTINED", "FAILED")
        return self.record_of(self.id) if asks else None

    @cached_property
    def _status(self) -> str:
        """As the executions say."""
        decided = (row.part.status for row in self.rows if row.part.status)
        roles = {row.part.role for row in self.rows}
        ended = "REFUSED" if roles <= {"refused"} else "FAILED" if roles <= {"refused", "died"} else "IN_PROGRESS"
        return next(decided, ended)

    @property
    def status(self) -> str:
        return status_of(self.record) if self.record else self._status

    @property
    def parts(self) -> Sequence[str]:
        """Tenant, operation and key."""
        return self.id.split("#", 2)

    @property
    def at(self) -> datetime.datetime:
        """When something happened to it last."""
        return self.rows[0].started_at if self.rows else _at(self.alone or {})

    @property
    def duplicates(self) -> int:
        return sum(row.part.role == "duplicate" for row in self.rows)

    def told(self, now: datetime.datetime) -> str:
        return summary([row.part for row in reversed(self.rows)], self.record, now)


@dataclass(frozen=True)
class Listing:
    operations: Sequence[Operation]
    counts: Mapping[str, int]
    """By status, over all that match whatever status is asked for."""
    more: int
    """How many to ask for to see more; 0 where these are all."""
    total: int
    executions: int


def listing(
    rows: Sequence[Row],
    asked: Filter,
    record_of: Callable[[str], Known],
    alone: Sequence[Mapping[str, object]] = (),
) -> Listing:
    """`alone` are the records of other ids."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.id or row.arn, []).append(row)
    every = [Operation(group[0].id, group, record_of) for group in groups.values()]
    every += [Operation(str(record["id"]), (), record_of, record) for record in alone]
    every.sort(key=lambda each: each.at, reverse=True)
    found = [each for each in every if asked.matches(each)]
    matching = [each for each in found if asked.status in ("", each.status)]
    counts = Counter(each.status for each in found)
    return Listing(
        operations=matching[: asked.most],
        counts={status: counts[status] for status in STATUSES},
        more=asked.most + CHUNK if len(matching) > asked.most else 0,
        total=len(every),
        executions=len(rows),
    )


def is_whole(record: Mapping[str, object]) -> bool:
    """Whether a record is in the form that Once writes: a function with steps may have written any other."""
    types = {"status": str, "owner": str, "fence": int, "attempts": int, "acquiredAt": str}
    if record.get("status") == "IN_PROGRESS":
        types["leaseExpiresAt"] = int
    has_all = all(isinstance(record.get(name), type) for name, type in types.items())
    return has_all and str(record["id"]).count("#") >= 2 and isinstance(record.get("error", {}), Mapping)


def _at(record: Mapping[str, object]) -> datetime.datetime:
    """When a record was written last, as far as it says."""
    written = next((str(record[name]) for name in WRITTEN if name in record), "")
    try:
        told = datetime.datetime.fromisoformat(written)
    except ValueError:
        told = datetime.datetime.min
    return told if told.tzinfo else told.replace(tzinfo=datetime.UTC)


def status_of(record: Mapping[str, object]) -> str:
    """That of a record; of one that an operator released RELEASED: nothing failed."""
    error = record.get("error")
    is_released = record.get("status") == "FAILED" and isinstance(error, Mapping) and error.get("name") == RELEASED
    return "RELEASED" if is_released else str(record.get("status", ""))
