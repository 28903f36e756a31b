"""DynamoDB items as plain Python values."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any


def plain_item(item: Mapping[str, Any]) -> dict[str, Any]:
    """An item as DynamoDB's API gives it, {"name": {"S": "..."}}, with str, int, float, bool, list and dict."""
    from boto3.dynamodb.types import TypeDeserializer

    decode = TypeDeserializer().deserialize
    return {name: _plain(decode(value)) for name, value in item.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, dict):
        return {key: _plain(member) for key, member in value.items()}
    return [_plain(member) for member in value] if isinstance(value, list) else value
