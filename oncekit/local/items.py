"""Items of DynamoDB as plain values: numbers in place of Decimal, and no types around them."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any


def plain(item: Mapping[str, Any]) -> dict[str, Any]:
    """An item as the low-level API gives it, as a dict of plain values."""
    from boto3.dynamodb.types import TypeDeserializer  # slow to import

    decode = TypeDeserializer().deserialize
    return {key: _plain(decode(value)) for key, value in item.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, dict):
        return {key: _plain(member) for key, member in value.items()}
    return [_plain(member) for member in value] if isinstance(value, list) else value
