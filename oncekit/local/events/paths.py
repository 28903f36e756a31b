"""JSON paths as far as EventBridge supports them: members by name, elements by index, and `*` for each of them."""

from __future__ import annotations

import re
from typing import Any

MISSING = object()
"""The value of a path that matches nothing."""

_STEP = re.compile(r"\.(?P<name>[^.\[\]]+)|\[(?P<index>\d+|\*)\]|\[(?P<quote>['\"])(?P<quoted>.*?)(?P=quote)\]")


class PathError(ValueError):
    """A path that EventBridge would refuse."""


def find(path: str, value: Any) -> Any:
    """The value at a path, MISSING if there is none; a list of all values if the path has `*`. Raises PathError."""
    if not path.startswith("$"):
        raise PathError(f"a path begins with $, not {path!r}")
    found = [value]
    position, many = 1, False
    while position < len(path):
        step = _STEP.match(path, position)
        if step is None:
            raise PathError(f"{path!r} is not a path that EventBridge supports, from {path[position:]!r} on")
        many = many or step["name"] == "*" or step["index"] == "*"
        found = [each for one in found for each in _taken(step, one)]
        position = step.end()
    if many:
        return found
    return found[0] if found else MISSING


def _taken(step: re.Match[str], value: Any) -> list[Any]:
    name = step["name"] or step["quoted"]
    if step["index"] == "*" or name == "*":
        return list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    if step["index"] is not None:
        index = int(step["index"])
        return [value[index]] if isinstance(value, list) and index < len(value) else []
    return [value[name]] if isinstance(value, dict) and name in value else []
