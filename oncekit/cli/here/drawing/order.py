"""The order within the rows: few crossings. A first one by igraph and some by chance, then vertex by vertex."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from itertools import combinations

import igraph

from oncekit.cli.here.drawing.vertices import Link, Vertex

STARTS = 24
"""Starts by chance; more of them found nothing better."""
PASSES = 60


def ordered(rows: Sequence[Sequence[Vertex]], links: Sequence[Link]) -> list[list[Vertex]]:
    """The rows in the best order found; the same for the same input."""
    above: dict[Vertex, list[Vertex]] = {v: [] for row in rows for v in row}
    below: dict[Vertex, list[Vertex]] = {v: [] for row in rows for v in row}
    for upper, lower in links:
        below[upper].append(lower)
        above[lower].append(upper)
    chance = random.Random(1)  # noqa: S311 no secret
    starts = [_by_igraph(rows, links)]
    starts += [[chance.sample(row, len(row)) for row in rows] for _ in range(STARTS)]
    best: tuple[int, list[list[Vertex]]] | None = None
    for start in starts:
        position = {v: i for row in start for i, v in enumerate(row)}
        for _ in range(PASSES):
            moved = [_sift(row, above, below, position) for row in start]
            if not any(moved):
                break
        count = crossings(start, links)
        if best is None or count < best[0]:
            best = count, start
    assert best is not None
    return best[1]


def crossings(rows: Sequence[Sequence[Vertex]], links: Sequence[Link]) -> int:
    """How many pairs of lines cross."""
    at = {v: (r, i) for r, row in enumerate(rows) for i, v in enumerate(row)}
    return sum(
        (at[a][1] - at[c][1]) * (at[b][1] - at[d][1]) < 0
        for (a, b), (c, d) in combinations(links, 2)
        if at[a][0] == at[c][0]
    )


def _by_igraph(rows: Sequence[Sequence[Vertex]], links: Sequence[Link]) -> list[list[Vertex]]:
    number = {v: i for i, v in enumerate(v for row in rows for v in row)}
    row_numbers = [r for r, row in enumerate(rows) for _ in row]
    graph = igraph.Graph([(number[a], number[b]) for a, b in links], n=len(number), directed=True)
    placed = graph.layout_sugiyama(layers=row_numbers, hgap=1, vgap=1, maxiter=500)
    return [sorted(row, key=lambda v: (round(placed[number[v]][0], 3), number[v])) for row in rows]


def _sift(
    row: list[Vertex],
    above: Mapping[Vertex, Sequence[Vertex]],
    below: Mapping[Vertex, Sequence[Vertex]],
    position: dict[Vertex, int],
) -> bool:
    """Move each vertex of the row to its best place in it; true when something moved."""
    ends = {v: [[position[other] for other in beside[v]] for beside in (above, below)] for v in row}

    def more(vertex: Vertex, other: Vertex) -> int:
        """How many crossings more there are with `other` on the left of `vertex` than the other way round."""
        beside = zip(ends[other], ends[vertex], strict=True)
        return sum((a > b) - (a < b) for others, own in beside for a in others for b in own)

    moved = False
    for vertex in list(row):
        here = row.index(vertex)
        others = row[:here] + row[here + 1 :]
        costs = [0]
        for other in others:
            costs.append(costs[-1] + more(vertex, other))
        best = min(range(len(costs)), key=lambda i: (costs[i], abs(i - here)))
        if costs[best] < costs[here]:
            row[:] = [*others[:best], vertex, *others[best:]]
            position.update({v: i for i, v in enumerate(row)})
            moved = True
    return moved
