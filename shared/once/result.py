"""A result as exact text, and the envelope in which it goes back to the state machine.

The state machine keeps and replays the text that is made here; it never serialises a result again, because JSONata
rounds every number to 15 digits. It knows an envelope by the token that came with the attempt: a function that returns
what its sender wrote returns no envelope.
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


def envelope(text: str, token: str | None) -> Envelope | None:
    """The envelope of a result that may travel inline; None when it is too large.

    `token` is the attempt's `replyToken`; None under a state machine of a version that gives none.
    """
    if len(text) > INLINE_LIMIT:
        return None
    inline = _sealed({"onceResult": text}, token)
    return inline if len(json.dumps(inline)) <= INLINE_LIMIT else None


def reference(ref: ResultRef, token: str | None) -> Envelope:
    """The envelope of a result that is in the response bucket."""
    return _sealed({"onceResultRef": ref}, token)


def _sealed(content: Envelope, token: str | None) -> Envelope:
    return content if token is None else {**content, "replyToken": token}


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
