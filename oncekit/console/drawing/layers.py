"""Which row each state is in, and where the edges bend that pass rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from oncekit.console.drawing.across import across
from oncekit.console.drawing.order import ordered
from oncekit.console.drawing.vertices import Bend, Edge, Link, Node, Vertex


@dataclass(frozen=True)
class Layers:
    """Where everything is: rows from top to bottom, the horizontal centre of each vertex, each edge's way."""

    rows: Sequence[Sequence[Vertex]]
    across: Mapping[Vertex, float]
    row_of: Mapping[Vertex, int]
    ways: Mapping[Edge, Sequence[Vertex]]
    """From the source to the target."""

    def up(self, edge: Edge) -> bool:
        return self.row_of[edge.target] < self.row_of[edge.source]


def layers(nodes: Sequence[Node], edges: Sequence[Edge], widths: Mapping[str, float]) -> Layers:
    """Everything in its place; `widths` are those of the states. An edge from a state to itself has no way."""
    row_of = _rows_of(nodes, edges)
    ways = {edge: _way(edge, row_of) for edge in edges if edge.source != edge.target}
    # In the order of the edges, never in that of a set: the picture must be the same every time.
    links: dict[Link, bool] = {}
    for edge, way in ways.items():
        for a, b in pairwise(way):
            row_of |= {v: v.row for v in (a, b) if isinstance(v, Bend)}
            link = (a, b) if row_of[a] < row_of[b] else (b, a)
            links[link] = links.get(link, False) or _alone(edge, edges)
    rows: list[list[Vertex]] = [[] for _ in range(max(row_of.values()) + 1)]
    for vertex, row in row_of.items():
        rows[row].append(vertex)
    found = ordered(rows, list(links))
    trunks = _trunks(ways)
    return Layers(found, across(found, links, trunks, widths), row_of, ways)


def _alone(edge: Edge, edges: Sequence[Edge]) -> bool:
    """Whether this is the one way on from its source, errors aside: such a line should be straight."""
    return not edge.on_error and sum(e.source == edge.source and not e.on_error for e in edges) == 1


def _rows_of(nodes: Sequence[Node], edges: Sequence[Edge]) -> dict[Vertex, int]:
    """Each state is below those that lead to it and are defined before it: a definition is written as it is read.

    An error leads downward only to a state that nothing else leads to: what ends in a lost lock goes back to reading
    the record.
    """
    place: dict[Vertex, int] = {node.name: i for i, node in enumerate(nodes)}
    forward = [e for e in edges if place[e.source] < place[e.target]]
    below = [(e.source, e.target) for e in forward if not e.on_error]
    led_to = {target for _, target in below}
    for edge in sorted((e for e in forward if e.on_error), key=lambda e: place[e.source]):
        if edge.target not in led_to:
            led_to.add(edge.target)
            below.append((edge.source, edge.target))
    while True:
        row_of = dict.fromkeys(place, 0)
        for node in nodes:
            for source, target in below:
                if source == node.name:
                    row_of[target] = max(row_of[target], row_of[source] + 1)
        flat = [(e.source, e.target) for e in edges if e.source != e.target and row_of[e.source] == row_of[e.target]]
        if not flat:
            return row_of
        below.append(min(flat[0], flat[0][::-1], key=lambda pair: place[pair[0]]))


def _way(edge: Edge, row_of: Mapping[Vertex, int]) -> list[Vertex]:
    first, last = row_of[edge.source], row_of[edge.target]
    step = 1 if last > first else -1
    bends = [Bend(edge.target, step < 0, edge.on_error, row) for row in range(first + step, last, step)]
    return [edge.source, *bends, edge.target]


def _trunks(ways: Mapping[Edge, Sequence[Vertex]]) -> list[list[Vertex]]:
    """The bends on the longest way to each target, from the target outward: each wants to be one straight line."""
    longest: dict[tuple[str, bool, bool], list[Vertex]] = {}
    for way in ways.values():
        bends = [v for v in way if isinstance(v, Bend)]
        if bends:
            key = (bends[0].target, bends[0].up, bends[0].on_error)
            longest[key] = max(longest.get(key, []), [*bends[::-1]], key=len)
    return list(longest.values())
