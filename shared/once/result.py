"""A result as exact text, and the envelope in which it goes back to the state machine.

The state machine stores and returns exactly the text that is made here. It never serialises a result again, because
JSONata rounds every number to 15 digits. It recognises an envelope by the token that came with the attempt, so a
function that returns text of its sender cannot imitate one.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from once.errors import NeedsAttention
from once.result_store import ResultRef

# No text as a whole, so that an annotation such as `JSON | Pending` can be evaluated.
JSON: TypeAlias = bool | int | float | str | Sequence["JSON"] | Mapping[str, "JSON"] | None
Envelope: TypeAlias = dict[str, str | int | ResultRef]

INLINE_LIMIT: Final = 200_000
"""Bytes of an envelope: well below the 256 KiB above which Step Functions refuses an answer, after the work is done."""


@dataclass(frozen=True, slots=True)
class Pending:
    """In place of a result: the work goes on elsewhere. Made by `Request.pending`."""

    seconds: int
    """Until when it should have ended, from now on."""


def serialise(result: JSON) -> str:
    """The text of a result: compact and ASCII only, so that it has as many bytes as characters.

    Raises NeedsAttention when the result is not JSON: by then business logic has succeeded, and another attempt would
    fail in the same way.
    """
    try:
        return json_text(result)
    except ValueError as error:
        raise NeedsAttention(f"business logic succeeded, but its result is not JSON: {error}") from error


def json_text(value: JSON) -> str:
    """The text of a value. Raises ValueError that says where the first value is that JSON cannot represent."""
    try:
        return json.dumps(value, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(_fault(value) or str(error)) from error


def envelope(text: str, token: str) -> Envelope | None:
    """The envelope that contains the result itself; None when the result is too large for that.

    `token` is the attempt's `replyToken`.
    """
    if len(text) > INLINE_LIMIT:
        return None
    inline: Envelope = {"onceResult": text, "replyToken": token}
    return inline if len(json.dumps(inline)) <= INLINE_LIMIT else None


def reference(ref: ResultRef, token: str) -> Envelope:
    """The envelope of a result that is in the response bucket."""
    return {"onceResultRef": ref, "replyToken": token}


def pending_envelope(pending: Pending, token: str) -> Envelope:
    """The envelope of an operation that a ticket will end."""
    return {"oncePending": pending.seconds, "replyToken": token}


def _fault(value: object, pointer: str = "", depth: int = 0) -> str | None:
    """Where the first value is that JSON cannot represent, and its type; never the value itself."""
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
            return f"{pointer or 'it'} has a member whose name is of type {type(name).__name__}"
        if fault := _fault(member, f"{pointer}/{name}", depth + 1):
            return fault
    return None
