"""Converts plain Python values to those of DynamoDB, and back.

A float becomes the shortest decimal that reads back as the same float: 0.1 is stored as 0.1. Numbers are
read as `Decimal`, as with boto3; `float(number)` is then exactly the float that was written.
"""

import math
from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from once.errors import InvalidWriteError

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef

PLAIN = (str, bool, int, Decimal, bytes, bytearray, type(None))


def to_dynamodb(fields: Mapping[str, object], what: str) -> "dict[str, AttributeValueTypeDef]":
    """Attributes, or the values of an expression, in DynamoDB's form. `what` names them in an error.

    Raises InvalidWriteError that says where the first value is that DynamoDB cannot store; never the value itself.
    """
    # Imported on first use: for a function without such writes, boto3 would make the start a tenth longer.
    from boto3.dynamodb.types import TypeSerializer

    serializer = TypeSerializer()
    converted: dict[str, AttributeValueTypeDef] = {}
    for name, value in fields.items():
        where = f"{what}, {name}"
        try:
            converted[name] = serializer.serialize(_exact(value, where))
        except (TypeError, ArithmeticError) as error:
            raise InvalidWriteError(
                f"{where} cannot be stored in DynamoDB: it is or contains a number beyond 38 digits or its range, or a "
                "set of mixed types"
            ) from error
    return converted


def from_dynamodb(item: "Mapping[str, AttributeValueTypeDef]") -> dict[str, Any]:
    """An item in plain Python."""
    from boto3.dynamodb.types import TypeDeserializer

    deserializer = TypeDeserializer()
    return {name: deserializer.deserialize(value) for name, value in item.items()}


def _exact(value: object, where: str) -> object:
    """The value, with floats replaced by decimals."""
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidWriteError(f"{where} is not a finite number")
        return Decimal(repr(value))
    if isinstance(value, PLAIN):
        return value
    if isinstance(value, Mapping):
        if named := next((name for name in value if not isinstance(name, str)), None):
            raise InvalidWriteError(f"{where} has a member whose name is of type {type(named).__name__}")
        return {name: _exact(member, f"{where}.{name}") for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [_exact(member, f"{where}[{index}]") for index, member in enumerate(value)]
    if isinstance(value, set | frozenset):
        if not value:
            raise InvalidWriteError(f"{where} is an empty set, which DynamoDB does not support: leave it out")
        return {_exact(member, where) for member in value}
    from boto3.dynamodb.types import Binary

    if isinstance(value, Binary):  # as boto3 reads it
        return value
    raise InvalidWriteError(f"{where} is of type {type(value).__name__}, which DynamoDB does not support")
