"""The fingerprint of a payload as the state machine makes it: whether two requests under one key are the same wish.

A record keeps the fingerprint of the request that it was made for, and not the payload. The form that is hashed is that
of `ReceiveRequest`: keys sorted at every depth, strings with their length, numbers as doubles.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from oncekit.console.requests import opened

LARGE = 1e300
"""Above it the remainder of a number could be infinite."""


def fingerprint_of(text: str) -> str | None:
    """The fingerprint of a request's payload; None for a text that is no request."""
    request = opened(json.loads(text, parse_int=float))  # a number of JSON is a double there
    if not isinstance(request, dict) or "payload" not in request:
        return None
    return hashlib.sha256(_canonical(request["payload"]).encode("utf-8", "surrogatepass")).hexdigest()


def _canonical(value: Any) -> str:
    if isinstance(value, dict):
        keys = sorted(value, key=lambda key: key.encode("utf-16-be", "surrogatepass"))  # as JavaScript compares
        return "{" + "".join(f"{len(key)}:{key}{_canonical(value[key])}" for key in keys) + "}"
    if isinstance(value, list):
        return "[" + "".join(map(_canonical, value)) + "]"
    if isinstance(value, str):
        return f"{len(value)}:{value}"
    if isinstance(value, float):
        return f"^{_decimal(value / 1024)};" if abs(value) > LARGE else f"#{_decimal(value)};"
    return "N" if value is None else "T" if value else "F"


def _decimal(value: float) -> str:
    """Fifteen digits, as JSONata prints a number, and what they leave of it."""
    from oncekit.local.engine.javascript import fifteen_digits, number_text  # slow to import

    shown = fifteen_digits(value)
    return f"{number_text(shown)}~{number_text(fifteen_digits(value - shown))}"
