"""Which executions the page of requests lists, and in which order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from oncekit.console.rows import Row

CHUNK = 100
"""Rows that are sent at first; the page asks for as many more as it is scrolled."""
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
    most: int = CHUNK

    @classmethod
    def of(cls, asked: Mapping[str, str]) -> Filter:
        most = asked.get("most", "")
        return cls(
            **{name: asked.get(name, "").strip() for name in ("kind", "operation", "tenant", "text")},
            grouped=asked.get("group") == "id",
            most=int(most) if most.isdecimal() and len(most) < 9 else CHUNK,
        )

    def matches(self, row: Row) -> bool:
        """Whatever its class is."""
        text = self.text.lower()
        return (
            self.operation in ("", row.operation)
            and self.tenant in ("", row.tenant)
            and (not text or any(text in each.lower() for each in (row.id, row.outcome, row.name)))
        )


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
    counts: Mapping[str, int]
    """By class, over all that match whatever class is asked for."""
    more: int
    """How many to ask for to see more; 0 where these are all."""
    operations: Sequence[str]
    tenants: Sequence[str]
    total: int


def listing(rows: Sequence[Row], asked: Filter) -> Listing:
    found = [row for row in rows if asked.matches(row)]
    counts = Counter(row.kind for row in found)
    matching = [row for row in found if asked.kind in ("", row.kind)]
    shown = (_grouped(matching) if asked.grouped else matching)[: asked.most]
    ids = {row.id for row in shown}
    executed = [row for row in rows if row.outcome == "EXECUTED" and row.id in ids]
    before = ["", *(row.id for row in shown)]
    return Listing(
        rows=[
            Listed(row, asked.grouped and bool(row.id) and before[n] == row.id, _owner(row, executed))
            for n, row in enumerate(shown)
        ],
        counts={kind: counts[kind] for kind in KINDS},
        more=asked.most + CHUNK if len(matching) > asked.most else 0,
        operations=sorted({row.operation for row in rows if row.operation}),
        tenants=sorted({row.tenant for row in rows if row.tenant}),
        total=len(rows),
    )


def _owner(row: Row, executed: Iterable[Row]) -> Row | None:
    """After a record has expired, its id is executed again: that one gave no answer before."""
    ended = row.ended_at
    return next((one for one in executed if one.id == row.id and (ended is None or one.started_at <= ended)), None)


def _grouped(rows: Iterable[Row]) -> list[Row]:
    """The ids by their newest execution; of each, first the one that did the work, then the newest."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.id or row.arn, []).append(row)
    return [row for group in groups.values() for row in sorted(group, key=lambda row: row.outcome != "EXECUTED")]
