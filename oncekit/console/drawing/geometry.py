"""Where boxes, and the lines between them, are drawn: sizes, rows, ports and points."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from oncekit.console.drawing.across import spread
from oncekit.console.drawing.layers import Layers, layers
from oncekit.console.drawing.vertices import Bend, Edge, Node, Vertex

LETTER = 7.9
"""Width of a letter in the widest of the usual fonts at 13 px, so that the text fits with every one."""
LINE, PADDING, MARGIN, TOP = 16, 11, 26, 74
LONGEST_LINE = 13
ROW_GAP, GAP_PER_LINE, WIDEST_GAP = 26, 3, 66
PORT_GAP = 11.0
HEAD = 8

Point = tuple[float, float]


@dataclass(frozen=True)
class Box:
    """Where a state is drawn: its centre and its size."""

    x: float
    y: float
    width: float
    height: float
    lines: tuple[str, ...]


Port = tuple[str, bool, object]
"""A state, whether it is at its bottom, and the line that goes there."""


@dataclass(frozen=True)
class Geometry:
    """Where everything is drawn, in pixels."""

    placed: Layers
    boxes: Mapping[str, Box]
    tops: Sequence[float]
    bottoms: Sequence[float]
    ports: Mapping[Port, float]

    @property
    def width(self) -> float:
        right = [box.x + box.width / 2 for box in self.boxes.values()]
        return max(right + [x + 2 * MARGIN for x in self.placed.across.values()]) + MARGIN

    def points(self, edge: Edge) -> list[Point]:
        """Pairs of points: from one to the next a curve, and straight on through each row."""
        way = self.placed.ways[edge]
        up = self.placed.up(edge)
        source, target = self.boxes[edge.source], self.boxes[edge.target]
        side = -0.5 if up else 0.5
        points = [(self.ports[edge.source, not up, _leaving(edge)], source.y + side * source.height)]
        for bend in way[1:-1]:
            assert isinstance(bend, Bend)
            x = self.placed.across[bend] + MARGIN
            ends = ((x, self.tops[bend.row]), (x, self.bottoms[bend.row]))
            points += ends[::-1] if up else ends
        head = HEAD if up else -HEAD
        points.append((self.ports[edge.target, up, _arriving(edge)], target.y - side * target.height + head))
        return points


@functools.lru_cache(maxsize=8)
def geometry(nodes: tuple[Node, ...], edges: tuple[Edge, ...]) -> Geometry:
    """Takes some seconds for thirty states, so a picture that is drawn again has the same."""
    text = {node.name: wrapped(node.name) for node in nodes}
    widths = {n.name: max(map(len, text[n.name])) * LETTER + PADDING * (4 if n.kind == "choice" else 2) for n in nodes}
    placed = layers(nodes, edges, widths)
    boxes, tops, bottoms = _boxes(placed, text, widths)
    return Geometry(placed, boxes, tops, bottoms, _ports(placed, boxes))


def wrapped(name: str) -> tuple[str, ...]:
    """A long name on two lines, parted where a word begins."""
    if len(name) <= LONGEST_LINE:
        return (name,)
    starts = [m.start() for m in re.finditer(r"(?<=[a-z0-9])(?=[A-Z])", name)]
    if not starts:
        return (name,)
    cut = min(starts, key=lambda i: (max(i, len(name) - i), i))
    return name[:cut], name[cut:]


def _boxes(
    placed: Layers, text: dict[str, tuple[str, ...]], widths: dict[str, float]
) -> tuple[dict[str, Box], list[float], list[float]]:
    """The boxes, and where each row begins and ends: rows with many slanting lines between them stand further apart."""
    slanting = [0] * len(placed.rows)
    row = placed.row_of
    for link in {tuple(sorted(p, key=lambda v: row[v])) for way in placed.ways.values() for p in pairwise(way)}:
        slanting[row[link[0]]] += abs(placed.across[link[0]] - placed.across[link[1]]) > 40
    boxes, tops, bottoms, y = {}, [], [], float(TOP)
    for r, vertices in enumerate(placed.rows):
        names = [v for v in vertices if isinstance(v, str)]
        height = max((len(text[n]) for n in names), default=1) * LINE + 2 * PADDING - 4
        for name in names:
            x = placed.across[name] + MARGIN
            boxes[name] = Box(x, y + height / 2, widths[name], len(text[name]) * LINE + 2 * PADDING - 4, text[name])
        tops.append(y)
        bottoms.append(y + height)
        y += height + min(WIDEST_GAP, ROW_GAP + GAP_PER_LINE * slanting[r])
    return boxes, tops, bottoms


def _ports(placed: Layers, boxes: dict[str, Box]) -> dict[Port, float]:
    """Where lines meet the boxes: each as straight below or above where it comes from as there is room."""
    wanted: dict[tuple[str, bool], dict[object, list[float]]] = {}
    for edge, way in placed.ways.items():
        up = placed.up(edge)
        leaving = wanted.setdefault((edge.source, not up), {})
        leaving.setdefault(_leaving(edge), []).append(_facing(edge.source, way[1], placed, boxes))
        arriving = wanted.setdefault((edge.target, up), {})
        arriving.setdefault(_arriving(edge), []).append(_facing(edge.target, way[-2], placed, boxes))
    found: dict[Port, float] = {}
    for (name, at_bottom), lines in wanted.items():
        box = boxes[name]
        means = {line: sum(xs) / len(xs) for line, xs in lines.items()}
        order = sorted(means, key=lambda line: (means[line], str(line)))
        reach = _reach(box)
        gap = min(PORT_GAP, 2 * reach / max(len(order) - 1, 1))
        places = spread(
            [min(max(means[li], box.x - reach), box.x + reach) for li in order],
            [1] * len(order),
            [gap] * (len(order) - 1),
        )
        shift = max(0, box.x - reach - places[0]) - max(0, places[-1] - box.x - reach)
        found |= {(name, at_bottom, line): place + shift for line, place in zip(order, places, strict=True)}
    return found


def _reach(box: Box) -> float:
    """How far from its middle a line can meet a box."""
    return box.width / 2 - 2 * PADDING


def _facing(name: str, other: Vertex, placed: Layers, boxes: dict[str, Box]) -> float:
    """Where a line between a box and what is above or below it would be straight, if it can be."""
    if isinstance(other, Bend):
        return placed.across[other] + MARGIN
    box, facing = boxes[name], boxes[other]
    low = max(box.x - _reach(box), facing.x - _reach(facing))
    high = min(box.x + _reach(box), facing.x + _reach(facing))
    return (low + high) / 2 if low <= high else facing.x


def _leaving(edge: Edge) -> object:
    return ("to", edge.target, edge.on_error)


def _arriving(edge: Edge) -> object:
    return ("from", edge.on_error)
