"""JSON as RFC 8259 has it, for numbers that a double can hold; of members with one name the last one counts."""

from __future__ import annotations

import json
import math

from oncekit.proof.fuzz.values import JSON


class NotJson(ValueError):
    """The text is not a JSON object, or has a number that no double can hold."""


def parsed(text: str) -> dict[str, JSON]:
    """The object that a text is. Raises NotJson."""
    try:
        value = json.loads(text, parse_constant=_refused, parse_float=_finite, parse_int=_finite)
    except (ValueError, RecursionError) as error:
        raise NotJson(str(error)) from error
    if not isinstance(value, dict):
        raise NotJson("no object")
    return value


def _refused(word: str) -> float:
    raise NotJson(word)


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise NotJson(digits)
    return number


def plain(value: JSON) -> str:
    """The same text for equal values: every number as a double."""
    return json.dumps(_doubles(value), sort_keys=True)


def _doubles(value: JSON) -> JSON:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value) + 0.0  # one zero
    if isinstance(value, dict):
        return {name: _doubles(each) for name, each in value.items()}
    return [_doubles(each) for each in value] if isinstance(value, list) else value
