"""Files that a user gives. What is wrong with one comes as a Problem that names it."""

from __future__ import annotations

import json
import sys
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Any, NoReturn

from oncekit.problem import Problem

MOST_BYTES = 262_144
"""What StartExecution takes as input."""
MOST_EXACT = 9_007_199_254_740_991
"""Beyond it not every whole number is a double; ReceiveRequest refuses those in a payload."""


def read_event(name: str) -> str:
    """The text of a request.

    Raises Problem when it cannot be read, is not JSON, is too large to be started with, or has a number that may be
    rounded on its way.
    """
    text, _ = read_json(name, f"give the path of a request, such as {_a_request()}")
    if (size := len(text.encode())) > MOST_BYTES:
        raise Problem(
            f"{where(name)}: {size:,} bytes, but Step Functions takes at most {MOST_BYTES:,}; "
            "put the data in S3 and send a reference in the payload"
        )
    json.loads(text, parse_int=partial(_exact, where(name)), parse_float=partial(_exact, where(name)))
    return text


def _a_request() -> str:
    """The path of one that is here; else that of the example application."""
    there = sorted(Path("events").glob("*.json"))
    mine = [each for each in there if not each.stem.endswith(("-event", "-message"))]
    return mine[0].as_posix() if mine else "events/charge-payment.json"


def no_request(place: str) -> str:
    """What is said of an event that `names_nothing`."""
    return (
        f"{place} is no request: it has neither operation nor idempotencyKey. If it is a payload, write "
        '{"operation": ..., "idempotencyKey": ..., "payload": ...} around it, as `once new` does in events/. If it is '
        "a function's own event, in the direct lane, its test sends it, or its trigger, whose address `once up` prints."
    )


def read_result(name: str) -> str:
    """A result as the text that the library makes of it. Raises Problem when it cannot be read or is not JSON."""
    text, _ = read_json(name, "give the path of a file that has the result as JSON")
    return result_of(where(name), text)


def result_of(place: str, text: str) -> str:
    """The text that the library makes of a result. Raises Problem, with the place that it is from."""
    from once.errors import NeedsAttention
    from once.result import serialise

    try:
        return serialise(_parsed(place, text, "write the result as JSON"))
    except NeedsAttention as error:
        raise Problem(f"{place}: not JSON: {str(error).rpartition(': ')[2]}") from error


def where(name: str) -> str:
    return "standard input" if name == "-" else name


def read_json(name: str, advice: str) -> tuple[str, Any]:
    """The text of a file, or of standard input, and its value. Raises Problem when it cannot be read or is not JSON."""
    try:
        content = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a name with a null character
        raise Problem(f"{where(name)}: {getattr(error, 'strerror', error)}; {advice}") from error
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Problem(f"{where(name)}: not UTF-8 text ({error.reason} at byte {error.start})") from error
    return text, _parsed(where(name), text, advice)


def _parsed(place: str, text: str, advice: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse_constant, parse_float=partial(_finite, place))
    except (ValueError, RecursionError) as error:
        why = f"not JSON: {error}" if text.strip() else f"empty; {advice}"
        raise Problem(f"{place}: {why}") from error


def _finite(place: str, digits: str) -> float:
    if not isfinite(number := float(digits)):
        raise Problem(f"{place}: {_short(digits)}: no double holds it; send it as a string")
    return number


def _exact(place: str, digits: str) -> float:
    if abs(number := float(digits)) > MOST_EXACT:
        told = f"{_short(digits)} is a whole number beyond {MOST_EXACT}, which may be rounded"
        raise Problem(f"{place}: {told}; send it as a string")
    return number


def _short(digits: str) -> str:
    return digits if len(digits) < 40 else f"{digits[:40]}..."


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number in JSON; leave the member out, or send null")
