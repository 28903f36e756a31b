"""DynamoDB items as plain Python values."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any


def plain_item(item: Mapping[str, Any]) -> dict[str, Any]:
    """An item as DynamoDB's API gives it, {"name": {"S": "..."}}, in plain Python: numbers are int or float."""
    from boto3.dynamodb.types import TypeDeserializer

    decode = TypeDeserializer().deserialize
    return {name: _plain(decode(value)) for name, value in item.items()}


def _plain(value: Any) -> Any:
    from boto3.dynamodb.types import Binary

    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, dict):
        return {key: _plain(member) for key, member in value.items()}
    if isinstance(value, Binary):
        return bytes(value)  # type: ignore[call-overload]  # its stub knows no __bytes__
    if isinstance(value, list | set):
        return type(value)(map(_plain, value))
    return value
