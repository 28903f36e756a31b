"""Requests as the state machines see them: their text, their fingerprint, and what is no request.

JSON's numbers are doubles there, and JSONata's `$string` writes them with 15 digits, as ECMAScript writes a number. A
function of the direct lane and a machine must come to the same fingerprint and the same sentence: tests hold this file
against the machines' own expressions, and against the reference implementation of JSONata.
"""

import hashlib
import json
import re
from collections.abc import Iterator
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any, Final

NAME: Final = re.compile(r"[a-z][a-z0-9-]{0,39}")
INLINE_BYTES: Final = 4096
"""InlineLimitBytes of the state machines: a larger record would make each duplicate more expensive."""
EXACT: Final = 2**53 - 1
_DIGITS: Final = Context(prec=15, rounding=ROUND_HALF_UP)
"""Of two as near, the one that is farther from 0: ECMA-262, Number.prototype.toPrecision."""
_JSONATA: Final = ("_jsonata_lambda", "_jsonata_function")
"""Members by which JSONata knows a function."""
_HALF: Final = re.compile("[\ud800-\udfff]")
_UNSEEN: Final = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069\ufeff]")


def as_json(value: Any) -> Any:
    """The JSON value that this is sent as; None for what is none."""
    try:
        return json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        return None


def fault(
    operation: Any, tenant: Any, key: Any, payload: Any, on_crash: Any = "retry", on_failed: Any = "replay"
) -> str | None:
    """Why this is no request, in ReceiveRequest's words; None for one. The payload is a JSON value."""
    if not isinstance(operation, str) or not NAME.fullmatch(operation):
        return f"operation must be a string that matches ^{NAME.pattern}$"
    if not isinstance(tenant, str) or not NAME.fullmatch(tenant):
        return f"tenant must be a string that matches ^{NAME.pattern}$ (leave it out for 'default')"
    if not isinstance(key, str) or not 1 <= len(key) <= 256:
        return "idempotencyKey must be a string of 1 to 256 characters"
    if key in ("null", "undefined", "None"):
        return "idempotencyKey is the text null, undefined or None - what it is made of is missing"
    if _UNSEEN.search(key):
        return (
            "idempotencyKey has a control character, a line separator, a character that changes the direction of text "
            "or one that cannot be seen"
        )
    if not isinstance(payload, dict):
        return "payload must be a JSON object"
    if on_crash not in ("retry", "quarantine"):
        return "onCrash must be 'retry' or 'quarantine' (leave it out for 'retry')"
    if on_failed not in ("replay", "retry"):
        return "onFailed must be 'replay' or 'retry' (leave it out for 'replay')"
    return _fault_of(payload, key)


def _fault_of(payload: dict[str, Any], key: str) -> str | None:
    kinds = list(_values(payload))
    if any(name in each for _, each in kinds if isinstance(each, dict) for name in _JSONATA):
        return "a payload cannot have a member called _jsonata_lambda or _jsonata_function"
    if max(depth for depth, _ in kinds) > 10:
        return "the payload is nested deeper than 10 levels - send what is deeper as JSON text in a string"
    if any(_is_number(each) and not -EXACT <= each <= EXACT for _, each in kinds):
        return "the payload has a whole number beyond 9007199254740991, which may be rounded - send it as a string"
    text = text_of(payload)
    if size_of(text) > 180_000:
        return (
            "the payload is larger than 180,000 bytes (a character outside ASCII counts as 4) - put the data in S3 and "
            "send a reference in the payload"
        )
    if size_of(json.dumps(text, ensure_ascii=False)) + 2 > 220_000:
        return (
            "the payload, written as a string, is larger than 220,000 bytes (each quote and backslash counts twice) - "
            "send a reference to data in S3"
        )
    if _HALF.search(text + key):
        return "the request has half of a surrogate pair, which is not a character - send valid Unicode"
    # Brackets and commas.
    if len(text) > 4000 and sum(max(len(each), 1) for _, each in kinds if isinstance(each, dict | list)) > 2000:
        return "the payload has more than 2,000 values - put the data in S3 and send a reference in the payload"
    return None


def _values(value: Any, depth: int = 0) -> Iterator[tuple[int, Any]]:
    """Each value with the number of lists and objects around it, itself included."""
    if isinstance(value, dict | list):
        yield depth + 1, value
        for each in value.values() if isinstance(value, dict) else value:
            yield from _values(each, depth + 1)
    else:
        yield depth, value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def size_of(text: str) -> int:
    """Bytes as the machines count them: four for each code unit of UTF-16 outside ASCII."""
    return sum(1 if " " <= each <= "~" else 4 if each <= "\uffff" else 8 for each in text)


def hash_of(id: str) -> str:
    """SHA-256 of an id, in hex."""
    return hashlib.sha256(id.encode()).hexdigest()


def fingerprint(payload: Any) -> str:
    """SHA-256 of the payload in the machines' canonical form, in hex."""
    return hashlib.sha256(_canonical(payload).encode()).hexdigest()


def _canonical(value: Any) -> str:
    if isinstance(value, str):
        return f"{len(value)}:{value}"
    if isinstance(value, dict):
        # ECMAScript sorts by code units of UTF-16.
        names = sorted(value, key=lambda name: name.encode("utf-16-be"))
        return "{" + "".join(f"{len(name)}:{name}{_canonical(value[name])}" for name in names) + "}"
    if isinstance(value, list):
        return "[" + "".join(map(_canonical, value)) + "]"
    if value is None or isinstance(value, bool):
        return {None: "N", True: "T", False: "F"}[value]
    text = _number(value)
    return f"#{text}~{_number(float(value) - float(text))};"


def text_of(value: Any) -> str:
    """As `$string` writes it: compact, and each number with 15 digits."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{text_of(name)}:{text_of(each)}" for name, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(text_of, value)) + "]"
    if _is_number(value):
        return _number(value)
    return json.dumps(value, ensure_ascii=False)


def kept(request: dict[str, Any]) -> str | None:
    """What the record keeps of a request; None for one that is kept in the bucket: it is large, or has many digits."""
    text = text_of(request)
    is_exact = all(float(_number(each)) == each for _, each in _values(request["payload"]) if _is_number(each))
    return text if is_small(size_of(text), request["idempotencyKey"]) and is_exact else None


def is_small(size: int, key: str) -> bool:
    """Whether the record of this key has room for a text of so many bytes."""
    return size + 4 * len(key) + 1200 <= INLINE_BYTES


def _number(value: float) -> str:
    """ECMA-262, `Number(value.toPrecision(15)).toString()`: the shortest digits are those that Python finds, too."""
    rounded = float(_DIGITS.create_decimal_from_float(float(value))) or 0.0  # -0 is 0
    shortest = Decimal(repr(rounded)).normalize(_DIGITS)
    return f"{shortest:f}" if -7 < shortest.adjusted() < 21 else f"{shortest:e}"
