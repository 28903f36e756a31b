"""Makes jsonata-python faster where its way is long: names, flags of lists, truths, and what a path names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from jsonata import Jsonata
from jsonata.utils import Utils

from oncekit.local.engine.patching import replaced

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


@contextmanager
def quick_values() -> Iterator[None]:
    """In the engine's own classes: a list sets no flag of its own that the class has, a truth is one as it is, and
    whether a value is a function is asked without an import.
    """
    boolize, function = Jsonata.boolize, Jsonata.JFunctionCallable

    def quick_boolize(value: Any) -> bool:
        return value if type(value) is bool else boolize(value)

    def is_a_function(value: Any) -> bool:
        return isinstance(value, function)

    flags = ("sequence", "outer_wrapper", "tuple_stream", "keep_singleton", "cons")
    with replaced(
        *((Utils.JList, flag, False) for flag in flags),
        (Utils.JList, "__init__", list.__init__),
        (Jsonata, "boolize", staticmethod(quick_boolize)),
        (Utils, "is_function", staticmethod(is_a_function)),
    ):
        yield
