"""Where the boxes of the states are drawn, and the lines between them, in pixels."""

from __future__ import annotations

import functools
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from statistics import fmean
from typing import NamedTuple

from oncekit.console.drawing.graph import Edge, Node

LETTER = 7.9
"""Width of a letter in the widest of the usual fonts at 13 px, so that the text fits with every one."""
LINE, PADDING, MARGIN, TOP = 16, 11, 26, 74
LONGEST_LINE = 13
ROW_GAP, GAP_PER_LINE, WIDEST_GAP = 26, 3, 66
BEND_WIDTH, GAP, BEND_GAP = 4.0, 26.0, 13.0
PORT_GAP = 11.0
HEAD = 8
STRAIGHT = {0: 1.0, 1: 2.0, 2: 8.0}
"""How strongly a line wants to be straight, by how many of its ends are bends."""
ONLY_WAY = 4.0
"""How much more the only way on from a state wants it."""
TRUNK = 30.0
"""How strongly all the bends of one line want to stand above each other."""
STARTS, PASSES, SWEEPS = 24, 20, 150
"""Orders by chance that are tried, and how often each is improved; how often the places are. More changed nothing."""


class Bend(NamedTuple):
    """Where edges of one kind to `target` pass a row."""

    target: str
    up: bool
    on_error: bool
    row: int


Vertex = str | Bend
"""A state by its name, or a bend."""
Rows = Sequence[Sequence[Vertex]]
Links = Mapping[tuple[Vertex, Vertex], float]
"""Lines from a row to the next one below, and how strongly each wants to be straight."""
Point = tuple[float, float]


@dataclass(frozen=True)
class Box:
    """Where a state is drawn: its centre and its size."""

    x: float
    y: float
    width: float
    height: float
    lines: tuple[str, ...]

    @property
    def reach(self) -> float:
        """How far from its middle a line can meet it."""
        return self.width / 2 - 2 * PADDING


@dataclass(frozen=True)
class Layout:
    boxes: Mapping[str, Box]
    ways: Mapping[Edge, Sequence[Point]]
    """Pairs of points: from one to the next a curve, and straight on through each row."""
    width: float
    bottom: float


@functools.lru_cache(maxsize=8)
def layout(nodes: tuple[Node, ...], edges: tuple[Edge, ...]) -> Layout:
    """Takes half a second for thirty states, so a picture that is drawn again has the same."""
    text = {node.name: _wrapped(node.label or node.name) for node in nodes}
    widths = {n.name: max(map(len, text[n.name])) * LETTER + PADDING * (4 if n.kind == "choice" else 2) for n in nodes}
    row_of = _rows(nodes, edges)
    ways = {edge: _way(edge, row_of) for edge in edges}
    links = _links(ways, row_of, edges)
    bends = {vertex for link in links for vertex in link if isinstance(vertex, Bend)}
    rows: list[list[Vertex]] = [[name for name in row_of if row_of[name] == r] for r in range(max(row_of.values()) + 1)]
    for bend in sorted(bends):  # never in the order of a set: the picture must be the same every time
        rows[bend.row].append(bend)
    ordered = _ordered(rows, links)
    across = _across(ordered, links, widths)
    if across[nodes[0].name] > sum(across.values()) / len(across):  # one reads from the left
        ordered = [row[::-1] for row in ordered]
        across = _across(ordered, links, widths)
    boxes, spans = _boxes(ordered, across, links, text, widths)
    return Layout(
        boxes,
        _points(ways, boxes, across, spans),
        max(max(across.values()), *(box.x + box.width / 2 for box in boxes.values())) + MARGIN,
        spans[-1][1],
    )


def _wrapped(name: str) -> tuple[str, ...]:
    """A long name on two lines, parted where a word begins."""
    starts = [m.start() for m in re.finditer(r"(?<=[a-z0-9])(?=[A-Z])", name)]
    if len(name) <= LONGEST_LINE or not starts:
        return (name,)
    cut = min(starts, key=lambda i: (max(i, len(name) - i), i))
    return name[:cut], name[cut:]


# ---- rows ----


def _rows(nodes: Sequence[Node], edges: Sequence[Edge]) -> dict[str, int]:
    """Each state is below those that lead to it and are defined before it: a definition is written as it is read.

    An error leads downward only to a state that nothing else leads to.
    """
    place = {node.name: i for i, node in enumerate(nodes)}
    forward = sorted((e for e in edges if place[e.source] < place[e.target]), key=lambda e: place[e.source])
    led_to = {e.target for e in forward if not e.on_error}
    below = [(e.source, e.target) for e in forward if not e.on_error or e.target not in led_to]
    while True:
        row_of = dict.fromkeys(place, 0)
        for source, target in sorted(below, key=lambda pair: place[pair[0]]):
            row_of[target] = max(row_of[target], row_of[source] + 1)
        flat = [sorted((e.source, e.target), key=place.__getitem__) for e in edges]
        flat = [pair for pair in flat if row_of[pair[0]] == row_of[pair[1]]]
        if not flat:
            return row_of
        below.append((flat[0][0], flat[0][1]))


def _way(edge: Edge, row_of: Mapping[str, int]) -> list[Vertex]:
    first, last = row_of[edge.source], row_of[edge.target]
    step = 1 if last > first else -1
    bends = [Bend(edge.target, step < 0, edge.on_error, row) for row in range(first + step, last, step)]
    return [edge.source, *bends, edge.target]


def _links(ways: Mapping[Edge, Sequence[Vertex]], row_of: Mapping[str, int], edges: Sequence[Edge]) -> Links:
    onward = [edge.source for edge in edges if not edge.on_error]
    links: dict[tuple[Vertex, Vertex], float] = {}
    for edge, way in ways.items():
        only = ONLY_WAY if not edge.on_error and onward.count(edge.source) == 1 else 1
        for a, b in pairwise(way if row_of[edge.source] < row_of[edge.target] else way[::-1]):
            pull = STRAIGHT[isinstance(a, Bend) + isinstance(b, Bend)] * only
            links[a, b] = max(links.get((a, b), 0), pull)
    return links


# ---- the order within the rows: few crossings ----


def _ordered(rows: Rows, links: Links) -> Rows:
    """The best order that was seen while each vertex went to the mean place of those that it is linked with.

    It starts from some orders by chance; the same input gives the same order.
    """
    beside: dict[Vertex, tuple[list[Vertex], list[Vertex]]] = {v: ([], []) for row in rows for v in row}
    for upper, lower in links:
        beside[upper][1].append(lower)
        beside[lower][0].append(upper)
    chance = random.Random(1)  # noqa: S311 no secret
    found: list[list[list[Vertex]]] = []
    for start in range(STARTS):
        order = [list(row) if start == 0 else chance.sample(row, len(row)) for row in rows]
        place = {v: float(n) for row in order for n, v in enumerate(row)}
        for number in range(PASSES):
            side = number % 2  # by those above on the way down, then by those below on the way up
            for row in order if side == 0 else reversed(order):
                means = {v: fmean(place[n] for n in beside[v][side] or [v]) for v in row}
                row.sort(key=means.__getitem__)
                place.update({v: float(n) for n, v in enumerate(row)})
            found.append([list(row) for row in order])
    return min(found, key=lambda order: _crossings(order, links))


def _crossings(rows: Rows, links: Links) -> int:
    at = {v: (r, i) for r, row in enumerate(rows) for i, v in enumerate(row)}
    lines: list[list[tuple[int, int]]] = [[] for _ in rows]
    for a, b in links:
        lines[at[a][0]].append((at[a][1], at[b][1]))
    return sum((a - c) * (b - d) < 0 for row in lines for (a, b), (c, d) in combinations(row, 2))


# ---- the horizontal places: each vertex near those that it is linked with ----


def _across(rows: Rows, links: Links, widths: Mapping[str, float]) -> dict[Vertex, float]:
    """The centres, in the order of the rows, with the leftmost box at the margin."""
    pull: dict[Vertex, list[tuple[Vertex, float]]] = {v: [] for row in rows for v in row}
    for (a, b), weight in links.items():
        pull[a].append((b, weight))
        pull[b].append((a, weight))
    half = {v: (BEND_WIDTH if isinstance(v, Bend) else widths[v]) / 2 for v in pull}
    gaps = [
        [
            half[a] + half[b] + (BEND_GAP if isinstance(a, Bend) or isinstance(b, Bend) else GAP)
            for a, b in pairwise(row)
        ]
        for row in rows
    ]
    trunks: dict[tuple[str, bool, bool], list[Vertex]] = {}
    for vertex in pull:
        if isinstance(vertex, Bend):
            trunks.setdefault(vertex[:3], []).append(vertex)
    x: dict[Vertex, float] = dict.fromkeys(pull, 0.0)
    for _ in range(SWEEPS):
        for r in (*range(len(rows)), *reversed(range(len(rows)))):
            wanted, weights = [], []
            for vertex in rows[r]:
                pulled = list(pull[vertex]) or [(vertex, 0.01)]
                if isinstance(vertex, Bend):
                    pulled += [(each, TRUNK / len(trunks[vertex[:3]])) for each in trunks[vertex[:3]]]
                weights.append(sum(w for _, w in pulled))
                wanted.append(sum(x[n] * w for n, w in pulled) / weights[-1])
            x.update(zip(rows[r], _spread(wanted, weights, gaps[r]), strict=True))
    left = min(x[v] - half[v] for v in x)
    return {v: round(place - left, 1) + MARGIN for v, place in x.items()}


def _spread(wanted: Sequence[float], weights: Sequence[float], gaps: Sequence[float]) -> list[float]:
    """The places nearest to those wanted (least squares) that keep the order and the gaps between neighbours.

    Without the gaps it is isotonic regression: neighbours that want to change places share their mean.
    """
    offsets = [sum(gaps[:i]) for i in range(len(wanted))]
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


# ---- boxes, and where lines meet them ----


def _boxes(
    rows: Rows,
    across: Mapping[Vertex, float],
    links: Links,
    text: Mapping[str, tuple[str, ...]],
    widths: Mapping[str, float],
) -> tuple[dict[str, Box], list[tuple[float, float]]]:
    """The boxes, and where each row begins and ends: rows with many slanting lines between them stand further apart."""
    boxes, spans, y = {}, [], float(TOP)
    for row in rows:
        names = [v for v in row if isinstance(v, str)]
        height = max((len(text[n]) for n in names), default=1) * LINE + 2 * PADDING - 4
        for name in names:
            own = len(text[name]) * LINE + 2 * PADDING - 4
            boxes[name] = Box(across[name], y + height / 2, widths[name], own, text[name])
        spans.append((y, y + height))
        slanting = sum(a in row and abs(across[a] - across[b]) > 40 for a, b in links)
        y += height + min(WIDEST_GAP, ROW_GAP + GAP_PER_LINE * slanting)
    return boxes, spans


def _points(
    ways: Mapping[Edge, Sequence[Vertex]],
    boxes: Mapping[str, Box],
    across: Mapping[Vertex, float],
    spans: Sequence[tuple[float, float]],
) -> dict[Edge, list[Point]]:
    ports = _ports(ways, boxes, across)
    found = {}
    for edge, way in ways.items():
        source, target = boxes[edge.source], boxes[edge.target]
        side = 1 if target.y > source.y else -1
        points = [(ports[_leaving(edge, way, side)], source.y + side * source.height / 2)]
        for bend in way[1:-1]:
            assert isinstance(bend, Bend)
            points += [(across[bend], y) for y in spans[bend.row][::side]]
        points.append((ports[_arriving(edge, side)], target.y - side * (target.height / 2 + HEAD)))
        found[edge] = points
    return found


Port = tuple[str, int, Vertex, bool]
"""A state, whether it is at its bottom (1) or top (-1), where the line comes from or leads to, and if on an error."""


def _leaving(edge: Edge, way: Sequence[Vertex], side: int) -> Port:
    return edge.source, side, way[1], edge.on_error


def _arriving(edge: Edge, side: int) -> Port:
    """One for all that arrive from that side."""
    return edge.target, -side, edge.target, edge.on_error


def _ports(
    ways: Mapping[Edge, Sequence[Vertex]], boxes: Mapping[str, Box], across: Mapping[Vertex, float]
) -> dict[Port, float]:
    """Where lines meet the boxes: each as straight below or above where it comes from as there is room."""
    facing: dict[Port, list[float]] = {}
    for edge, way in ways.items():
        side = 1 if boxes[edge.target].y > boxes[edge.source].y else -1
        for port, other in ((_leaving(edge, way, side), way[1]), (_arriving(edge, side), way[-2])):
            here = across[port[0]]
            facing.setdefault(port, []).append(across[other] if isinstance(other, Bend) else (here + across[other]) / 2)
    means = {port: sum(xs) / len(xs) for port, xs in facing.items()}
    found: dict[Port, float] = {}
    for name, side in {port[:2]: None for port in means}:
        box = boxes[name]
        lines = sorted((port for port in means if port[:2] == (name, side)), key=lambda port: (means[port], str(port)))
        gap = min(PORT_GAP, 2 * box.reach / max(len(lines) - 1, 1))
        low = box.x - box.reach
        wanted = [
            min(max(means[line], low + i * gap), box.x + box.reach - (len(lines) - 1 - i) * gap)
            for i, line in enumerate(lines)
        ]
        found |= zip(lines, _spread(wanted, [1] * len(lines), [gap] * (len(lines) - 1)), strict=True)
    return found
