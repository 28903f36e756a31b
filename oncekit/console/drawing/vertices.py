"""What a drawing of a state machine is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Node:
    """A state; `kind` names its style: task, choice, wait, pass, success, failure, or finish (a task that ends)."""

    name: str
    kind: str
    comment: str


@dataclass(frozen=True)
class Edge:
    """A transition; `reason` says what takes it, where that is known."""

    source: str
    target: str
    on_error: bool
    reason: str = ""


@dataclass(frozen=True)
class Mark:
    """What became of a state in a run: how it is coloured (`kind`), the sign on it, and both in words."""

    kind: str
    sign: str
    words: str


@dataclass(frozen=True)
class Taken:
    """What a run went through: names in order, and what became of each state that it entered."""

    steps: Sequence[str] = ()
    marks: Mapping[str, Mark] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)
    """Where a state leads when it is clicked."""

    def __bool__(self) -> bool:
        return bool(self.steps)


NOTHING_TAKEN = Taken()


@dataclass(frozen=True)
class Bend:
    """Where edges of one kind to `target` pass a row."""

    target: str
    up: bool
    on_error: bool
    row: int


Vertex = str | Bend
"""A state by its name, or a bend."""

Link = tuple[Vertex, Vertex]
"""A line from a row to the next one below."""
