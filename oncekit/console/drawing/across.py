"""The horizontal places: each vertex near those it is linked with, in the order of its row; long lines straight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from oncekit.console.drawing.vertices import Bend, Link, Vertex

BEND_WIDTH = 4.0
GAP = 26.0
BEND_GAP = 13.0
STRAIGHT = {0: 1.0, 1: 2.0, 2: 6.0}
"""How strongly a line wants to be straight, by how many of its ends are bends."""
ONLY_WAY = 4.0
"""How much more the only way on from a state wants it."""
SWEEPS, ROUNDS = 120, 12


def across(
    rows: Sequence[Sequence[Vertex]],
    links: Mapping[Link, bool],
    trunks: Sequence[Sequence[Vertex]],
    widths: Mapping[str, float],
) -> dict[Vertex, float]:
    """The centres, the leftmost box at 0. `links` says of each whether it is the only way on."""
    pull: dict[Vertex, list[tuple[Vertex, float]]] = {v: [] for row in rows for v in row}
    for (a, b), only in links.items():
        weight = STRAIGHT[isinstance(a, Bend) + isinstance(b, Bend)] * (ONLY_WAY if only else 1)
        pull[a].append((b, weight))
        pull[b].append((a, weight))
    rooms = [_rooms(row, widths) for row in rows]
    x = {v: place for row, room in zip(rows, rooms, strict=True) for v, place in zip(row, line_up(room), strict=True)}
    for _ in range(SWEEPS):
        _sweep(rows, rooms, pull, x)
    for _ in range(ROUNDS):
        _straighten(rows, rooms, trunks, x)
        _settle(rows, rooms, pull, x)
    left = min(x[v] - _width(v, widths) / 2 for v in x)
    return {v: round(place - left, 1) for v, place in x.items()}


Pull = Mapping[Vertex, Sequence[tuple[Vertex, float]]]


def _sweep(
    rows: Sequence[Sequence[Vertex]], rooms: Sequence[Sequence[float]], pull: Pull, x: dict[Vertex, float]
) -> None:
    """Each row in turn to its best places for the rows beside it, down and up again."""
    for r in (*range(len(rows)), *reversed(range(len(rows)))):
        weights = [sum(w for _, w in pull[v]) or 0.01 for v in rows[r]]
        wanted = [_wanted(v, pull, x) for v in rows[r]]
        x.update(zip(rows[r], spread(wanted, weights, rooms[r]), strict=True))


def _wanted(vertex: Vertex, pull: Pull, x: Mapping[Vertex, float]) -> float:
    total = sum(w for _, w in pull[vertex])
    return sum(x[n] * w for n, w in pull[vertex]) / total if total else x[vertex]


def _straighten(
    rows: Sequence[Sequence[Vertex]],
    rooms: Sequence[Sequence[float]],
    trunks: Sequence[Sequence[Vertex]],
    x: dict[Vertex, float],
) -> None:
    """Make of each trunk as few vertical lines as there is room for, beginning above or below its target."""
    free = _free(rows, rooms, x)
    for trunk in sorted(trunks, key=len, reverse=True):
        rest = list(trunk)
        while rest:
            low, high, count = float("-inf"), float("inf"), 0
            for vertex in rest:
                left, right = free(vertex)
                if max(low, left) > min(high, right):
                    break
                low, high, count = max(low, left), min(high, right), count + 1
            run, rest = rest[: max(count, 1)], rest[max(count, 1) :]
            place = min(max(sum(x[v] for v in run) / len(run), low), high)
            if count:
                x.update(dict.fromkeys(run, place))


def _settle(
    rows: Sequence[Sequence[Vertex]], rooms: Sequence[Sequence[float]], pull: Pull, x: dict[Vertex, float]
) -> None:
    """Move each state, not the bends, as near to where it wants to be as its neighbours leave room."""
    free = _free(rows, rooms, x)
    for row in rows:
        for vertex in row:
            if not isinstance(vertex, Bend):
                left, right = free(vertex)
                x[vertex] = min(max(_wanted(vertex, pull, x), left), right)


class _free:  # noqa: N801 used as a function
    """Between which places a vertex can move as the others are now."""

    def __init__(
        self, rows: Sequence[Sequence[Vertex]], rooms: Sequence[Sequence[float]], x: Mapping[Vertex, float]
    ) -> None:
        self._x = x
        self._left: dict[Vertex, tuple[Vertex, float]] = {}
        self._right: dict[Vertex, tuple[Vertex, float]] = {}
        for row, room in zip(rows, rooms, strict=True):
            for (a, b), apart in zip(pairwise(row), room, strict=True):
                self._left[b], self._right[a] = (a, apart), (b, apart)

    def __call__(self, vertex: Vertex) -> tuple[float, float]:
        low, high = float("-inf"), float("inf")
        if vertex in self._left:
            other, apart = self._left[vertex]
            low = self._x[other] + apart
        if vertex in self._right:
            other, apart = self._right[vertex]
            high = self._x[other] - apart
        return low, max(low, high)


def _rooms(row: Sequence[Vertex], widths: Mapping[str, float]) -> list[float]:
    """The least distance between the centres of neighbours in a row."""
    return [
        (_width(a, widths) + _width(b, widths)) / 2 + (BEND_GAP if isinstance(a, Bend) or isinstance(b, Bend) else GAP)
        for a, b in pairwise(row)
    ]


def _width(vertex: Vertex, widths: Mapping[str, float]) -> float:
    return BEND_WIDTH if isinstance(vertex, Bend) else widths[vertex]


def line_up(rooms: Sequence[float]) -> list[float]:
    """Places from 0 to the right, with just the room between neighbours."""
    places = [0.0]
    for room in rooms:
        places.append(places[-1] + room)
    return places


def spread(wanted: Sequence[float], weights: Sequence[float], rooms: Sequence[float]) -> list[float]:
    """The places nearest to those wanted (least squares) that keep the order and the room between neighbours.

    Without the rooms it is isotonic regression: neighbours that want to change places share their mean.
    """
    offsets = line_up(rooms)
    blocks: list[tuple[float, float, int]] = []  # mean, weight, length
    for want, weight, offset in zip(wanted, weights, offsets, strict=True):
        block = (want - offset, weight, 1)
        while blocks and blocks[-1][0] > block[0]:
            mean, heavy, length = blocks.pop()
            total = heavy + block[1]
            block = ((mean * heavy + block[0] * block[1]) / total, total, length + block[2])
        blocks.append(block)
    means = [mean for mean, _, length in blocks for _ in range(length)]
    return [mean + offset for mean, offset in zip(means, offsets, strict=True)]
