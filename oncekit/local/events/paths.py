"""JSON paths as far as EventBridge supports them here: members by name, and elements by index."""

from __future__ import annotations

import re
from typing import Any

MISSING = object()
"""The value of a path that matches nothing."""

_STEP = re.compile(r"\.(?P<name>[^.\[\]*]+)|\[(?P<index>\d+)\]|\[(?P<quote>['\"])(?P<quoted>.*?)(?P=quote)\]")


class PathError(ValueError):
    """A path that EventBridge would refuse, or one with `*`."""


def find(path: str, value: Any) -> Any:
    """The value at a path, MISSING if there is none. Raises PathError."""
    if not path.startswith("$"):
        raise PathError(f"a path begins with $, not {path!r}")
    position = 1
    while position < len(path):
        step = _STEP.match(path, position)
        if step is None:
            raise PathError(f"{path!r} is not a path that is supported here, from {path[position:]!r} on")
        value = _taken(step, value)
        position = step.end()
    return value


def _taken(step: re.Match[str], value: Any) -> Any:
    if step["index"] is not None:
        index = int(step["index"])
        return value[index] if isinstance(value, list) and index < len(value) else MISSING
    name = step["name"] or step["quoted"]
    return value[name] if isinstance(value, dict) and name in value else MISSING
