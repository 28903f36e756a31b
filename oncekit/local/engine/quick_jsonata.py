"""What most paths of JSONata name, members of a variable: looked up at once, since the engine's way there is long."""

from __future__ import annotations

from typing import Any

_MORE_THAN_NAMES = (
    "predicate",
    "group",
    "stages",
    "tuple",
    "focus",
    "index",
    "ancestor",
    "keep_array",
    "keep_singleton_array",
    "consarray",
)
"""Members of the engine's syntax tree: a step that has one does more than its name says."""


def found(frame: Any, name: str) -> Any:
    """What a name stands for in a frame or in those around it; the engine asks one frame after the other to ask."""
    while frame is not None:
        if name in frame.bindings:
            return frame.bindings[name]
        frame = frame.parent
    return None


def names_below_a_variable(path: Any) -> tuple[str, ...] | None:
    """The variable and the members that a path names; None for a path with anything else in it."""
    first, *others = path.steps
    plain = all(vars(each).get(member) in (None, False) for each in (path, *path.steps) for member in _MORE_THAN_NAMES)
    if not plain or first.type != "variable" or not first.value or any(each.type != "name" for each in others):
        return None
    return tuple(str(each.value) for each in path.steps)
