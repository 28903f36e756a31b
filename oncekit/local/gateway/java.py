"""The methods of Java's strings, maps and lists that mapping templates call, on Python's values.

Velocity calls a method of the object, and never takes a member of a map for it: a header that is called `get` must not
stand in the way of `$headers.get("x")`. Only what templates here call is known; anything else is an error of theirs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any


class NoSuchMethod(ValueError):
    """A template calls what the value does not have: on AWS the reference would stand in the output as it is."""


def call(of: object, name: str, arguments: Sequence[object]) -> Any:
    """The value of `of.name(arguments)`. Raises NoSuchMethod."""
    known = _METHODS.get(type(of))
    method: Callable[..., Any] | None
    if known is None:
        method = None if name.startswith("_") or of is None else getattr(of, name, None)
        if method is None:
            raise NoSuchMethod(f"{type(of).__name__} has no method {name}")
        return method(*arguments)
    if name not in known:
        raise NoSuchMethod(f"{type(of).__name__} has no method {name} here")
    return known[name](of, *arguments)


def member(of: object, name: str) -> Any:
    """The value of `of.name`: of a map, the member of this name; None when there is none."""
    if isinstance(of, Mapping):
        return of.get(name)
    if of is None or name.startswith("_"):
        return None
    return getattr(of, name, None)


def _replace_all(text: str, pattern: str, replacement: str) -> str:
    """As String.replaceAll, for replacements in which nothing is special to Java or to Python."""
    if set(replacement) & set("$\\"):
        raise NoSuchMethod(f"a replacement with $ or a backslash is not supported: {replacement}")
    return re.sub(pattern, replacement, text)


def _put(of: dict[str, object], key: str, value: object) -> object:
    """As Map.put, which gives what was there before."""
    before = of.get(key)
    of[key] = value
    return before


_METHODS: Mapping[type, Mapping[str, Callable[..., Any]]] = {
    str: {
        "length": len,
        "replaceAll": _replace_all,
        "matches": lambda text, pattern: re.fullmatch(pattern, text) is not None,
        "equalsIgnoreCase": lambda text, other: text.lower() == str(other).lower(),
        "contains": lambda text, part: part in text,
        "startsWith": lambda text, part: text.startswith(part),
        "substring": lambda text, start, end=None: text[start:end],
        "toLowerCase": str.lower,
    },
    dict: {
        "get": lambda of, key: of.get(key),
        "put": _put,
        "keySet": list,
        "containsKey": lambda of, key: key in of,
    },
    list: {
        "size": len,
        "get": lambda of, index: of[index],
        "contains": lambda of, value: value in of,
    },
}
