"""Which executions the page of requests lists, and in which order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from oncekit.console.rows import Row

CHUNK = 100
"""Rows that are sent at once; the page asks for more as it is scrolled."""
KINDS = {
    "running": "Running",
    "succeeded": "Executed",
    "replayed": "Answered",
    "failed": "Failed",
    "stopped": "Stopped",
}
"""By class: what a filter calls it."""


@dataclass(frozen=True)
class Filter:
    """What is asked for; what is empty matches all."""

    kind: str = ""
    operation: str = ""
    tenant: str = ""
    text: str = ""
    grouped: bool = False
    after: str = ""
    """The ARN of the last row that the page has."""

    @classmethod
    def of(cls, asked: Mapping[str, str]) -> Filter:
        names = ("kind", "operation", "tenant", "text", "after")
        return cls(**{name: asked.get(name, "").strip() for name in names}, grouped=asked.get("group") == "id")

    def matches(self, row: Row) -> bool:
        text = self.text.lower()
        return (
            self.kind in ("", row.kind)
            and self.operation in ("", row.operation)
            and self.tenant in ("", row.tenant)
            and (not text or any(text in each.lower() for each in (row.id, row.outcome, row.name)))
        )


ALL = Filter()


@dataclass(frozen=True)
class Listed:
    row: Row
    follows: bool
    """Whether it is of the same id as the one above it, in a list that is grouped."""
    owner: Row | None
    """The execution that did the work for its id, the last one that had begun when this one ended."""


@dataclass(frozen=True)
class Listing:
    rows: Sequence[Listed]
    matching: int
    counts: Mapping[str, int]
    """By class, over all that match whatever class is asked for."""
    more: bool
    operations: Sequence[str]
    tenants: Sequence[str]
    total: int


def listing(rows: Sequence[Row], asked: Filter) -> Listing:
    any_kind = Filter("", asked.operation, asked.tenant, asked.text)
    found = rows if any_kind == ALL else [row for row in rows if any_kind.matches(row)]
    counts = Counter(row.kind for row in found)
    matching = [row for row in found if row.kind == asked.kind] if asked.kind else found
    ordered = _grouped(matching) if asked.grouped else matching
    first = _first(ordered, rows, asked.after) if asked.after else 0
    part = range(first, min(first + CHUNK, len(ordered)))
    ids = {ordered[n].id for n in part}
    executed = [row for row in rows if row.outcome == "EXECUTED" and row.id in ids]
    shown = [Listed(ordered[n], asked.grouped and _follows(ordered, n), _owner(ordered[n], executed)) for n in part]
    return Listing(
        rows=shown,
        matching=len(matching),
        counts={kind: counts[kind] for kind in KINDS},
        more=first + CHUNK < len(ordered),
        operations=sorted({row.operation for row in rows if row.operation}),
        tenants=sorted({row.tenant for row in rows if row.tenant}),
        total=len(rows),
    )


def _first(ordered: Sequence[Row], rows: Sequence[Row], after: str) -> int:
    """How many rows come up to this one; it may match no more, because it has ended meanwhile."""
    if (there := next((n for n, row in enumerate(ordered, 1) if row.arn == after), 0)) > 0:
        return there
    until = next((n for n, row in enumerate(rows, 1) if row.arn == after), 0)
    past = {row.arn for row in rows[:until]}
    return sum(row.arn in past for row in ordered)


def _owner(row: Row, executed: Iterable[Row]) -> Row | None:
    """After a record has expired, its id is executed again: that one gave no answer before."""
    ended = row.ended_at
    return next((one for one in executed if one.id == row.id and (ended is None or one.started_at <= ended)), None)


def _follows(ordered: Sequence[Row], n: int) -> bool:
    return n > 0 and bool(ordered[n].id) and ordered[n - 1].id == ordered[n].id


def _grouped(rows: Iterable[Row]) -> list[Row]:
    """The ids by their newest execution; of each, first the one that did the work, then the newest."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.id or row.arn, []).append(row)
    return [row for group in groups.values() for row in sorted(group, key=lambda row: row.outcome != "EXECUTED")]
