"""The order within the rows: few crossings. A first one by igraph and some by chance, then vertex by vertex."""

from __future__ import annotations

import random
from bisect import bisect_left
from collections.abc import Sequence
from itertools import combinations

import igraph

from oncekit.console.drawing.vertices import Link, Vertex

STARTS = 24
"""Starts by chance; more of them found nothing better."""
PASSES = 60


def ordered(rows: Sequence[Sequence[Vertex]], links: Sequence[Link]) -> list[list[Vertex]]:
    """The rows in the best order found; the same for the same input."""
    vertices = [v for row in rows for v in row]
    number = {v: i for i, v in enumerate(vertices)}
    above: list[list[int]] = [[] for _ in vertices]
    below: list[list[int]] = [[] for _ in vertices]
    for upper, lower in links:
        below[number[upper]].append(number[lower])
        above[number[lower]].append(number[upper])
    chance = random.Random(1)  # noqa: S311 no secret
    numbers = [[number[v] for v in row] for row in rows]
    starts = [[[number[v] for v in row] for row in _by_igraph(rows, links)]]
    starts += [[chance.sample(row, len(row)) for row in numbers] for _ in range(STARTS)]
    best: tuple[int, list[list[Vertex]]] | None = None
    for start in starts:
        position = [0] * len(vertices)
        for row in start:
            for place, vertex in enumerate(row):
                position[vertex] = place
        for _ in range(PASSES):
            moved = [_sift(row, above, below, position) for row in start]
            if not any(moved):
                break
        found = [[vertices[i] for i in row] for row in start]
        count = crossings(found, links)
        if best is None or count < best[0]:
            best = count, found
    assert best is not None
    return best[1]


def crossings(rows: Sequence[Sequence[Vertex]], links: Sequence[Link]) -> int:
    """How many pairs of lines cross."""
    at = {v: (r, i) for r, row in enumerate(rows) for i, v in enumerate(row)}
    by_row: dict[int, list[tuple[int, int]]] = {}
    for a, b in links:
        by_row.setdefault(at[a][0], []).append((at[a][1], at[b][1]))
    return sum((a - c) * (b - d) < 0 for lines in by_row.values() for (a, b), (c, d) in combinations(lines, 2))


def _by_igraph(rows: Sequence[Sequence[Vertex]], links: Sequence[Link]) -> list[list[Vertex]]:
    number = {v: i for i, v in enumerate(v for row in rows for v in row)}
    row_numbers = [r for r, row in enumerate(rows) for _ in row]
    graph = igraph.Graph([(number[a], number[b]) for a, b in links], n=len(number), directed=True)
    placed = graph.layout_sugiyama(layers=row_numbers, hgap=1, vgap=1, maxiter=500)
    return [sorted(row, key=lambda v: (round(placed[number[v]][0], 3), number[v])) for row in rows]


def _sift(row: list[int], above: Sequence[Sequence[int]], below: Sequence[Sequence[int]], position: list[int]) -> bool:
    """Move each vertex of the row to its best place in it; true when something moved."""
    sides = [{v: sorted(position[n] for n in beside[v]) for v in row} for beside in (above, below)]
    counted: dict[tuple[int, int], int] = {}

    def crossing(left: int, right: int) -> int:
        """How many lines cross when they stand so; the other rows do not move meanwhile."""
        pair = left, right
        if pair not in counted:
            counted[pair] = sum(bisect_left(side[right], a) for side in sides for a in side[left])
        return counted[pair]

    moved = False
    for vertex in list(row):
        here = row.index(vertex)
        others = row[:here] + row[here + 1 :]
        costs = [0]
        for other in others:
            costs.append(costs[-1] + crossing(other, vertex) - crossing(vertex, other))
        best = min(range(len(costs)), key=lambda i: (costs[i], abs(i - here)))
        if costs[best] < costs[here]:
            row[:] = [*others[:best], vertex, *others[best:]]
            for place, each in enumerate(row):
                position[each] = place
            moved = True
    return moved
