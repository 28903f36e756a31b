"""Whether two requests under one key are the same wish, by the fingerprint that the state machine makes of a payload.

A record keeps the fingerprint of the request that it was made for, and not the payload. The form that is hashed is that
of `ReceiveRequest`: keys sorted at every depth, strings with their length, numbers as JSONata prints them. How it does
that with more than 15 digits on AWS is unconfirmed (V74), so of payloads with such numbers nothing is said.
"""

from __future__ import annotations

import hashlib
import json
from decimal import Decimal
from typing import Any

from oncekit.console.requests import opened

MOST_DIGITS = 15


class _Unknown(Exception):
    """A number that may be printed in several ways."""


def is_other_payload(text: str, fingerprint: str) -> bool:
    """Whether a request surely has another payload than that of this fingerprint."""
    request = opened(json.loads(text, parse_float=Decimal))
    if not isinstance(request, dict) or "payload" not in request:
        return True
    try:
        form = _canonical(request["payload"])
    except _Unknown:
        return False
    return hashlib.sha256(form.encode("utf-8", "surrogatepass")).hexdigest() != fingerprint


def _canonical(value: Any) -> str:
    if isinstance(value, dict):
        keys = sorted(value, key=lambda key: key.encode("utf-16-be", "surrogatepass"))  # as JavaScript compares
        return "{" + "".join(f"{len(key)}:{key}{_canonical(value[key])}" for key in keys) + "}"
    if isinstance(value, list):
        return "[" + "".join(map(_canonical, value)) + "]"
    if isinstance(value, str):
        return f"{len(value)}:{value}"
    if isinstance(value, bool):
        return "T" if value else "F"
    return "N" if value is None else f"#{_printed(Decimal(value))}~0;"


def _printed(number: Decimal) -> str:
    plain = f"{number.normalize() + 0:f}"
    if sum(map(str.isdigit, plain)) > MOST_DIGITS:
        raise _Unknown
    return plain
