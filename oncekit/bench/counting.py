"""Counts the service calls of runs at the door, and what AWS would charge for them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from oncekit.local.engine import Call
from oncekit.local.once_cloud import LocalCloud

# us-east-1, on demand, dollars per million: write units, read units, Standard transitions, Lambda requests, S3 PUT.
WRITE, READ, TRANSITION, INVOCATION, PUT = 0.625, 0.125, 25.0, 0.20, 5.0


@dataclass
class Cost:
    """What one run took. Units are DynamoDB's: writes by started KiB of the larger item, consistent reads by 4 KiB."""

    transitions: int = 0
    writes: int = 0
    refused_writes: int = 0
    reads: int = 0
    write_units: int = 0
    read_units: int = 0
    invocations: int = 0
    puts: int = 0

    @property
    def dollars_per_million(self) -> float:
        """Without the compute time of the functions, which is theirs."""
        return (
            self.transitions * TRANSITION
            + self.write_units * WRITE
            + self.read_units * READ
            + self.invocations * INVOCATION
            + self.puts * PUT
        )


def size_of(item: Mapping[str, Any]) -> int:
    """The bytes of an item as DynamoDB counts them: names and values; numbers by two digits a byte."""
    return sum(len(name.encode()) + _value(value) for name, value in item.items())


def _value(value: Mapping[str, Any]) -> int:
    [(kind, content)] = value.items()
    if kind == "S":
        return len(content.encode())
    if kind == "N":
        return math.ceil(len(content) / 2) + 1
    if kind == "M":
        return 3 + sum(1 + len(n.encode()) + _value(v) for n, v in content.items())
    return 1


class Counter:
    """An interceptor that adds up a cost; also usable around a plain client (Powertools)."""

    def __init__(self, cloud: LocalCloud) -> None:
        self._cloud = cloud
        self.cost = Cost()

    def __call__(self, call: Call, proceed: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        if call.service == "lambda":
            self.cost.invocations += 1
        elif call.service == "s3":
            self.cost.puts += 1
        elif call.service == "dynamodb":
            return self.dynamodb(call.parameters["TableName"], call.parameters["Key"], call.action, proceed)
        return proceed()

    def dynamodb(
        self, table: str, key: dict[str, Any], action: str, proceed: Callable[[], dict[str, Any]]
    ) -> dict[str, Any]:
        old = self._item(table, key)
        before = size_of(old)
        if action == "get_item":
            self.cost.reads += 1
            self.cost.read_units += max(1, math.ceil(before / 4096))
            return proceed()
        self.cost.writes += 1
        try:
            answer = proceed()
        except ClientError:
            self.cost.refused_writes += 1
            self.cost.write_units += max(1, math.ceil(before / 1024))
            raise
        new = self._item(table, key)
        self.cost.write_units += max(1, math.ceil(max(before, size_of(new)) / 1024)) + _index_writes(old, new)
        return answer

    def _item(self, table: str, key: dict[str, Any]) -> dict[str, Any]:
        answer = self._cloud.client("dynamodb").get_item(TableName=table, Key=key, ConsistentRead=True)
        found: dict[str, Any] = answer.get("Item", {})
        return found


def _index_writes(old: Mapping[str, Any], new: Mapping[str, Any]) -> int:
    """A changed entry of `open-operations` costs a unit to remove and a unit to put."""
    before, after = ((i.get("openShard"), i.get("leaseExpiresAt")) for i in (old, new))
    return 0 if before == after else (before[0] is not None) + (after[0] is not None)
