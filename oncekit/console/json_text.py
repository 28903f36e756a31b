"""JSON as people read it: indented, each kind of piece in its class.

A number is never parsed: 1e400 and 0.1000000000000000055 are shown as they came.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup, escape

from oncekit.console.visible import visible

_END = re.compile(r"\r?\n|\r")
_STRING = r'"(?:[^"\\]|\\.)*"'
_PIECE = re.compile(rf'"\\u0000(?P<number>[-+.\w]+)"|(?P<key>{_STRING})(?=: )|(?P<string>{_STRING})|(?P<word>[a-z]+)')


def set_out(text: str) -> Markup:
    """As HTML; what is not JSON is shown as it is."""
    try:
        shown = json.dumps(_read(text), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return as_it_is(text)
    return Markup(_PIECE.sub(_in_its_class, shown))  # noqa: S704 the rest is punctuation


def _read(text: str) -> Any:
    """Its numbers are texts with a mark, as they were written."""
    number = "\0{}".format
    return json.loads(text, object_pairs_hook=_opened, parse_int=number, parse_float=number, parse_constant=number)


def _opened(pairs: Sequence[tuple[str, Any]]) -> Mapping[str, Any]:
    """A result is text, so that every duplicate gets the same bytes; so is a record's request. Here they are read."""
    return {name: _read_within(text) if name in ("result", "request") else text for name, text in pairs}


def _read_within(text: Any) -> Any:
    try:
        return _read(text)
    except (TypeError, ValueError):
        return text


def _in_its_class(piece: re.Match[str]) -> str:
    kind = str(piece.lastgroup)
    return f'<span class="{kind}">{escape(visible(piece[kind]))}</span>'


def as_it_is(text: str) -> Markup:
    """As HTML, line by line, whatever ends a line: Lambda's runtime client puts carriage returns into a traceback."""
    return escape("\n".join(map(visible, _END.split(text))))


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
