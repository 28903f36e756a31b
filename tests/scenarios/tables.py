"""Rows of the stack's tables that belong to a run. The tables are the example's, or of a stack for trials: small."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from oncekit.contract.items import plain_item
from oncekit.stack.stack import Stack

MOST_PAGES = 100
"""Of 1 MB each, 128 read units, so that looking at a table by mistake costs no more than a cent or two."""
CONDITIONS = {"=": "#name = :value", "begins_with": "begins_with(#name, :value)"}


class TooManyRowsError(RuntimeError):
    """The table is no small one: the suite does not look for its rows in it."""


def rows_with(stack: Stack, table: str, attribute: str, condition: str, value: str) -> Sequence[Mapping[str, Any]]:
    """Every row whose attribute is, or `begins_with`, the value; read consistently. Raises TooManyRowsError."""
    found: list[Mapping[str, Any]] = []
    asked: dict[str, Any] = {
        "TableName": table,
        "FilterExpression": CONDITIONS[condition],
        "ExpressionAttributeNames": {"#name": attribute},
        "ExpressionAttributeValues": {":value": {"S": value}},
        "ConsistentRead": True,
    }
    for _ in range(MOST_PAGES):
        page = stack.client("dynamodb").scan(**asked)
        found += map(plain_item, page["Items"])
        if "LastEvaluatedKey" not in page:
            return found
        asked["ExclusiveStartKey"] = page["LastEvaluatedKey"]
    raise TooManyRowsError(f"{table} has more than {MOST_PAGES} MB: run the suite in a stack for trials")
