"""Counts what runs have done to the outside: starts of business logic, and items in the tables of the functions."""

from __future__ import annotations

from collections import Counter

from cli.report import SideEffects
from local.cloud import LocalCloud


class Effects:
    """Remembers how things stand, to tell later what has been added."""

    def __init__(self, cloud: LocalCloud) -> None:
        self._cloud = cloud
        self._before = self._items()

    def since(self) -> SideEffects:
        prefix = f"{self._cloud.outputs['FunctionPrefix']}-"
        starts = Counter(
            i.function.removeprefix(prefix) for i in self._cloud.functions.invocations if i.function.startswith(prefix)
        )
        return SideEffects(starts, {table: n - self._before[table] for table, n in self._items().items()})

    def _items(self) -> dict[str, int]:
        client = self._cloud.client("dynamodb")
        tables = {logical: name for logical, name in self._cloud.tables.items() if logical != "IdempotencyTable"}
        pages = {t: client.get_paginator("scan").paginate(TableName=name, Select="COUNT") for t, name in tables.items()}
        return {table: sum(page["Count"] for page in found) for table, found in pages.items()}
