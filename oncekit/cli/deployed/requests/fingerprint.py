"""The fingerprint of a payload as the state machine makes it: whether two requests under one key are the same wish.

A record keeps the fingerprint of the request that it was made for, and not the payload. The form that is hashed is that
of `ReceiveRequest`: keys sorted at every depth, strings with their length, numbers as JSONata prints them. How many
digits those have on AWS is unconfirmed (V74), so a payload can have one of several fingerprints.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

from oncekit.console.requests import opened

LARGE = 1e300
"""Above it the remainder of a number could be infinite."""
Print = Callable[[int | float], str]


def fingerprints_of(text: str) -> frozenset[str]:
    """The fingerprints that a request's payload may have; none for a text that is not a request."""
    request = opened(json.loads(text, parse_int=_long_or_double))
    if not isinstance(request, dict) or "payload" not in request:
        return frozenset()
    forms = (_canonical(request["payload"], each) for each in (_reference, _whole_in_full, _in_full))
    return frozenset(hashlib.sha256(each.encode("utf-8", "surrogatepass")).hexdigest() for each in forms)


def _long_or_double(digits: str) -> int | float:
    """A whole number as Java reads it."""
    number = int(digits)
    return number if -(2**63) <= number < 2**63 else float(digits)


def _canonical(value: Any, shown: Print) -> str:
    if isinstance(value, dict):
        keys = sorted(value, key=lambda key: key.encode("utf-16-be", "surrogatepass"))  # as JavaScript compares
        return "{" + "".join(f"{len(key)}:{key}{_canonical(value[key], shown)}" for key in keys) + "}"
    if isinstance(value, list):
        return "[" + "".join(_canonical(each, shown) for each in value) + "]"
    if isinstance(value, str):
        return f"{len(value)}:{value}"
    if isinstance(value, bool):
        return "T" if value else "F"
    if value is None:
        return "N"
    return f"^{shown(value / 1024)};" if abs(value) > LARGE else f"#{shown(value)};"


def _reference(value: int | float) -> str:
    """Fifteen digits, as JSONata's reference prints a number, and what they leave of it."""
    from oncekit.local.engine.javascript import fifteen_digits, number_text  # slow to import

    double = float(value)
    printed = fifteen_digits(double)
    return f"{number_text(printed)}~{number_text(fifteen_digits(double - printed))}"


def _in_full(value: int | float) -> str:
    """All the digits that it takes to read the same number back, which leave nothing of it."""
    from oncekit.local.engine.javascript import number_text  # slow to import

    return f"{value if isinstance(value, int) else number_text(value)}~0"


def _whole_in_full(value: int | float) -> str:
    """As AWS was seen to print whole numbers (https://github.com/floci-io/floci/pull/2683); others to 15 digits."""
    return _in_full(value) if isinstance(value, int) or value.is_integer() else _reference(value)
