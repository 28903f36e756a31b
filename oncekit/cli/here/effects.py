"""Counts what runs have done to the outside: starts of business logic, and items in the tables of the functions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from oncekit.local.once_cloud import LocalCloud


@dataclass(frozen=True)
class SideEffects:
    """What the run did: starts of business logic by operation, items added by table (logical id)."""

    business_logic_starts: Mapping[str, int]
    tables: Mapping[str, int]

    def as_json(self) -> dict[str, Any]:
        return {"businessLogicStarts": dict(self.business_logic_starts), "tables": dict(self.tables)}


class Effects:
    """Remembers how things stand, to tell later what has been added."""

    def __init__(self, cloud: LocalCloud) -> None:
        self._cloud = cloud
        self._before = self._items()
        self._starts_before = len(cloud.invocations())

    def since(self) -> SideEffects:
        starts = Counter(each.operation for each in self._cloud.invocations()[self._starts_before :])
        return SideEffects(starts, {table: n - self._before[table] for table, n in self._items().items()})

    def _items(self) -> dict[str, int]:
        counts = self._cloud.item_counts()
        return {table: count for table, count in counts.items() if table != "IdempotencyTable"}
