"""JSON as people read it: indented, each kind of piece in its class; every piece stays as it was written.

A number is never parsed: 1e400 and 0.1000000000000000055 are shown as they came.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from markupsafe import Markup, escape

from oncekit.console.visible import visible

LONGEST = 262_144
"""Characters that are set out; a longer text is shown as it is."""
_PIECE = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')
_OPENS, _CLOSES = ("{", "["), ("}", "]")
RESULT = '"result"'
INDENT = "  "


def set_out(text: str) -> Markup:
    """As HTML; what is not JSON is shown as it is."""
    is_json = len(text) <= LONGEST and _is_json(text)
    return Markup("").join(_parts(_opened(_PIECE.findall(text)))) if is_json else as_it_is(text)


def _opened(pieces: list[str]) -> list[str]:
    """A result is text in an answer, so that every duplicate gets the same bytes; here it is read as what it says."""
    found: list[str] = []
    for number, piece in enumerate(pieces):
        is_result = pieces[max(0, number - 2) : number] == [RESULT, ":"] and piece.startswith('"')
        inner = json.loads(piece) if is_result else ""
        found += _PIECE.findall(inner) if inner and _is_json(inner) else [piece]
    return found


def _is_json(text: str) -> bool:
    try:
        json.loads(text, parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        return False
    return True


def members_of(text: str | None) -> Mapping[str, Any]:
    """Those of a JSON object; none where the text is no JSON object."""
    try:
        told = json.loads(text or "")
    except (ValueError, RecursionError):
        return {}
    return members(told)


def members(value: object) -> Mapping[str, Any]:
    """Those of a value that is an object; none of any other."""
    return value if isinstance(value, dict) else {}


def as_it_is(text: str) -> Markup:
    """As HTML, line by line."""
    return escape("\n".join(map(visible, text.split("\n"))))


def _parts(pieces: list[str]) -> Iterator[str]:
    depth = 0
    for number, piece in enumerate(pieces):
        after = pieces[number + 1] if number + 1 < len(pieces) else ""
        if piece in _OPENS:
            depth += 1
            yield piece if after in _CLOSES else piece + _line(depth)
        elif piece in _CLOSES:
            depth = max(0, depth - 1)
            yield piece if pieces[number - 1] in _OPENS else _line(depth) + piece
        elif piece == ",":
            yield piece + _line(depth)
        elif piece == ":":
            yield ": "
        else:
            yield Markup('<span class="{}">{}</span>').format(_kind(piece, after), visible(piece))


def _line(depth: int) -> str:
    return "\n" + INDENT * depth


def _kind(piece: str, after: str) -> str:
    if piece.startswith('"'):
        return "key" if after == ":" else "string"
    return "word" if piece in ("true", "false", "null") else "number"
