"""Converts JSON values for the JSONata engine, and its results back."""

from __future__ import annotations

from math import inf, isfinite
from typing import Any

from jsonata.utils import Utils

from oncekit.asl.javascript import EXACT_INTEGER, TakenForFunction, is_function


class JSONataError(Exception):
    """An expression that failed, or gave nothing, or a function."""


def bound(value: Any) -> Any:
    """A JSON value as the engine wants it: null as its own object, integers that a double cannot hold as doubles."""
    kind = type(value)
    if kind is str or kind is bool:
        return value
    if value is None:
        return Utils.NULL_VALUE
    if kind is int:
        return value if -EXACT_INTEGER <= value <= EXACT_INTEGER else _double(value)
    if isinstance(value, dict):
        if value.get("_jsonata_lambda") is True or value.get("_jsonata_function") is True:
            return TakenForFunction(value)
        return {key: bound(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [bound(member) for member in value]
    return value


def _double(value: int) -> float:
    """The nearest double; beyond them all an infinity, as JavaScript reads it."""
    try:
        return float(value)
    except OverflowError:
        return inf if value > 0 else -inf


def unbound(value: Any) -> Any:
    """What the engine gave, as plain JSON; a whole number as an integer.

    Raises JSONataError for a function or an infinity.
    """
    if is_function(value):
        raise JSONataError("returned an unsupported result type.")
    return _plain(value)


def _plain(value: Any) -> Any:
    kind = type(value)
    if kind is str or kind is bool:
        return value
    if kind is int:
        return value if -EXACT_INTEGER <= value <= EXACT_INTEGER else float(value)
    if kind is float:
        if not isfinite(value):
            raise JSONataError(f"Number out of range: {value}")
        return int(value) if value.is_integer() and abs(value) <= EXACT_INTEGER else value
    if value is Utils.NULL_VALUE:
        return None
    if isinstance(value, dict):
        return {key: _plain(member) for key, member in value.items() if member is not None}
    if isinstance(value, list | range):
        return [_plain(member) for member in value]
    if value is None:
        return None
    if isinstance(value, TakenForFunction):
        return value.value
    if is_function(value):
        raise JSONataError("returned an unsupported result type.")
    raise JSONataError(f"returned an unsupported result type: {kind.__name__}")


def json_type(value: Any) -> str:
    """The name of JSON's type of a value."""
    if value is None:
        return "null"
    kinds: tuple[tuple[Any, str], ...] = ((bool, "boolean"), (str, "string"), ((int, float), "number"), (list, "array"))
    return next((name for kind, name in kinds if isinstance(value, kind)), "object")
