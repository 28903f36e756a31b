"""A result as exact text, and the envelope in which it goes back to the state machine.

The state machine keeps and replays the text that is made here; it never serialises a result again, because JSONata
rounds every number to 15 digits.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from once.errors import NeedsAttention
from once.result_store import ResultRef

JSON: TypeAlias = "bool | int | float | str | Sequence[JSON] | Mapping[str, JSON] | None"
Envelope: TypeAlias = dict[str, str | ResultRef]

INLINE_LIMIT: Final = 200_000
"""Bytes of an envelope. Step Functions refuses an answer above 256 KiB, after the work was done: well below that."""


def serialise(result: JSON) -> str:
    """The one text of a result: compact and pure ASCII, so that its characters are its bytes.

    Raises NeedsAttention when the result is not JSON: by then business logic has succeeded, and another attempt would
    fail in the same way.
    """
    try:
        return json_text(result)
    except ValueError as error:
        raise NeedsAttention(f"business logic succeeded, but its result is not JSON: {error}") from error


def json_text(value: JSON) -> str:
    """The one text of a value. Raises ValueError that says where the first thing is that JSON cannot hold."""
    try:
        return json.dumps(value, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(_fault(value) or str(error)) from error


def envelope(text: str) -> Envelope | None:
    """The envelope of a result that may travel inline; None when it is too large."""
    if len(text) > INLINE_LIMIT:
        return None
    inline: Envelope = {"onceResult": text}
    return inline if len(json.dumps(inline)) <= INLINE_LIMIT else None


def reference(ref: ResultRef) -> Envelope:
    """The envelope of a result that is in the response bucket."""
    return {"onceResultRef": ref}


def _fault(value: object, pointer: str = "", depth: int = 0) -> str | None:
    """Where the first thing is that JSON cannot hold, and what; never its value."""
    if depth > 200:
        return f"{pointer[:100]}... is nested too deeply, or contains itself"
    if isinstance(value, float):
        return None if value - value == 0 else f"{pointer or 'it'} is not a finite number"
    if value is None or isinstance(value, bool | int | str):
        return None
    members: list[tuple[object, object]]
    if isinstance(value, dict):
        members = list(value.items())
    elif isinstance(value, list | tuple):
        members = list(enumerate(value))
    else:
        return f"{pointer or 'it'} is a {type(value).__name__}"
    for name, member in members:
        if not isinstance(name, str | int | float | bool | None):
            return f"{pointer or 'it'} has a member named by a {type(name).__name__}"
        if fault := _fault(member, f"{pointer}/{name}", depth + 1):
            return fault
    return None
