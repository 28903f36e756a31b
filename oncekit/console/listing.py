"""Which operations the page of requests lists: one row for each id, the one that was asked for last on top.

Made of executions, records and refused requests together: each may be there without the others.
"""

from __future__ import annotations

import datetime
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from oncekit.console.asked import CHUNK, Filter
from oncekit.console.decided import VERBS, decisions
from oncekit.console.moments import Story, time_of
from oncekit.console.parts import NAMED, Part
from oncekit.console.story import Kept, story
from oncekit.contract.words import RELEASED

STATUSES = {
    "IN_PROGRESS": "In progress",
    "COMPLETED": "Completed",
    "FAILED": "Failed",
    "QUARANTINED": "Quarantined",
    "REFUSED": "Refused",
}
"""What a filter calls them; the same words as in records, but for operations that have refused requests."""
WRITTEN = ("finishedAt", "pendingSince", "acquiredAt")
"""Times in a record, the latest first."""
DATA = ("error", "result", "resultRef", "request", "requestRef")
SEARCHED = ("owner", *DATA, "steps", "decisions")
"""Of a record, but for its id."""
DECIDED = {
    "retry": "retried",
    "resolve": "resolved",
    "fail": "resolved as failed",
    "release": "released",
    "forget": "forgotten",
}
"""By the verb of a decision: how else people call what was done, besides what the timeline says of it."""
Record = Mapping[str, object]


@dataclass(frozen=True)
class Row:
    """An execution as it is listed."""

    arn: str
    name: str
    id: str
    """Empty where its input names none."""
    lane: str
    started_at: datetime.datetime
    part: Part
    """What it did for its operation."""
    said: str
    """The beginnings of its input, output and error, in which one searches."""


@dataclass(frozen=True)
class Refused:
    """A refused request that is kept for an operator."""

    key: str
    id: str
    """Empty where it names none."""
    error: str
    execution: str
    """The ARN of the one that refused it."""
    at: datetime.datetime
    request: str
    """JSON; empty where it was not kept."""


@dataclass(frozen=True)
class Operation:
    """The executions of an id, the newest first, its record and its refused requests, as far as they are there; of a
    request without an id, the execution that refused it."""

    id: str
    key: str
    """By which it is known: its id, the ARN of its execution, or the key of what is kept of it."""
    rows: Sequence[Row] = ()
    record: Record | None = None
    refused: Sequence[Refused] = ()
    written: Sequence[str] = ()
    """What its functions wrote to tables of their own, as JSON."""

    @cached_property
    def status(self) -> str:
        """As the record says, for a person or a ticket may have ended it; else as the executions say."""
        if self.record:
            return status_of(self.record)
        decided = (row.part.status for row in self.rows if row.part.status)
        roles = {row.part.role for row in self.rows}
        ended = "REFUSED" if roles <= {"refused"} else "FAILED" if roles <= {"refused", "died"} else "IN_PROGRESS"
        return next(decided, ended)

    @property
    def statuses(self) -> set[str]:
        """Under which it is listed: one that refused a request, under that, too."""
        has_refused = bool(self.refused) or any(row.part.role == "refused" for row in self.rows)
        return {self.status, "REFUSED"} if has_refused else {self.status}

    @property
    def parts(self) -> Sequence[str]:
        """Tenant, operation and key."""
        return self.id.split("#", 2)

    @cached_property
    def moments(self) -> Sequence[datetime.datetime]:
        """When something happened to it, as far as that is known."""
        of_rows = (at for row in self.rows for at in (row.started_at, row.part.ended) if at)
        of_record = (at for name in WRITTEN if (at := time_of((self.record or {}).get(name))))
        return [*of_rows, *of_record, *(each.at for each in self.refused)]

    @cached_property
    def at(self) -> datetime.datetime:
        """When it was asked for last: a sweep, which goes on with it, asks for nothing."""
        came = [row.started_at for row in self.rows if not row.part.by_recovery]
        began = time_of((self.record or {}).get("acquiredAt"))
        came += [*(each.at for each in self.refused), *([began] if began else ())]
        return max(came or self.moments, default=datetime.datetime.min.replace(tzinfo=datetime.UTC))

    @property
    def duplicates(self) -> int:
        return sum(row.part.role == "duplicate" for row in self.rows)

    def story(self, now: datetime.datetime) -> Story:
        known = {row.arn for row in self.rows}
        others = [Kept(each.error, each.at) for each in self.refused if each.execution not in known]
        return story([row.part for row in reversed(self.rows)], self.record, now, refused=others)

    def said(self) -> Iterator[str]:
        """In what one searches; of an ARN the name: all have the account's number, in which is 12345."""
        yield self.id
        yield from self.statuses
        yield from (row.said for row in self.rows)
        yield from self.written
        if self.record:
            said = [self.record.get(name) for name in SEARCHED]
            yield NAMED.sub("", json.dumps(said, ensure_ascii=False, default=repr))
            yield from (f"{DECIDED[each['verb']]} {VERBS[each['verb']]}" for each in decisions(self.record))
        yield from (NAMED.sub("", f"{each.error} {each.execution} {each.request}") for each in self.refused)


@dataclass(frozen=True)
class Listing:
    operations: Sequence[Operation]
    counts: Mapping[str, int]
    """By status, over all that match whatever status is asked for."""
    names: Sequence[str]
    """Of operations, all that there are."""
    more: int
    """How many to ask for to see more; 0 where these are all."""
    total: int
    executions: int


def operations_of(rows: Sequence[Row], records: Mapping[str, Record], refused: Sequence[Refused]) -> list[Operation]:
    """One for each id; of what names none, for each execution."""
    of_rows: dict[str, list[Row]] = {}
    of_refused: dict[str, list[Refused]] = {}
    for row in rows:
        of_rows.setdefault(row.id or row.arn, []).append(row)
    for each in refused:
        of_refused.setdefault(each.id or each.execution or each.key, []).append(each)
    keys = dict.fromkeys((*of_rows, *records, *of_refused))
    return [
        Operation(key if "#" in key else "", key, of_rows.get(key, ()), records.get(key), of_refused.get(key, ()))
        for key in keys
    ]


def listing(every: Sequence[Operation], asked: Filter) -> Listing:
    found = [each for each in every if asked.matches(each)]
    matching = [each for each in found if not asked.status or asked.status in each.statuses]
    matching.sort(key=lambda each: each.at, reverse=True)
    counts = Counter(status for each in found for status in each.statuses)
    return Listing(
        operations=matching[: asked.most],
        counts={status: counts[status] for status in STATUSES},
        names=sorted({each.parts[1] for each in every if each.id}),
        more=asked.most + CHUNK if len(matching) > asked.most else 0,
        total=len(every),
        executions=sum(len(each.rows) for each in every),
    )


def status_of(record: Mapping[str, object]) -> str:
    """That of a record; of one that an operator released RELEASED: nothing failed."""
    error = record.get("error")
    is_released = record.get("status") == "FAILED" and isinstance(error, Mapping) and error.get("name") == RELEASED
    return "RELEASED" if is_released else str(record.get("status", ""))
