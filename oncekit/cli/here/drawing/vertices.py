"""What a drawing of a state machine is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


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


class Bend(NamedTuple):
    """Where edges of one kind to `target` pass a row. A tuple: it is looked up millions of times."""

    target: str
    up: bool
    on_error: bool
    row: int


Vertex = str | Bend
"""A state by its name, or a bend."""

Link = tuple[Vertex, Vertex]
"""A line from a row to the next one below."""
