"""Where the boxes of the states are drawn, and the lines between them, in pixels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from oncekit.console.drawing.graph import Edge, Node

LETTER = 7.9
"""Width of a letter in the widest of the usual fonts at 13 px, so that the text fits with every one."""
LINE, PADDING, MARGIN, TOP = 16, 11, 26, 74
ROW_GAP, LANE_GAP, COLUMN_GAP = 24, 14, 34
ROUND, HEAD = 8, 8
"""The radius of a line's corners, and the length of its head."""
OFF = {False: 4, True: 10}
"""How far from the middle of a box a line leaves and arrives: one on an error is not drawn over another one."""


@dataclass(frozen=True)
class Box:
    """Where a state is drawn: its centre and its size."""

    x: float
    y: float
    width: float
    height: float
    lines: Sequence[str]


@dataclass(frozen=True)
class Layout:
    boxes: Mapping[str, Box]
    lanes: Mapping[Edge, float]
    """Where the lines that skip rows go up, left of the boxes, or down, right of them."""
    width: float
    bottom: float


@dataclass(frozen=True)
class Line:
    path: str
    """SVG path data."""
    joined: str
    """Only as far as it is its own, where another line to the same state goes on from there."""
    head: tuple[float, float, int]
    """The tip of its head, and its direction in degrees: 0 is to the right."""


def layout(nodes: Sequence[Node], edges: Sequence[Edge]) -> Layout:
    """The states from top to bottom in their order, with what is `others` on the right of the state it belongs to."""
    others = {
        edge.source: node for node in nodes if node.kind == "others" for edge in edges if edge.target == node.name
    }
    column = [node.name for node in nodes if node.kind != "others"]
    ups, downs = _lanes(column, edges)
    width = max(map(len, column)) * LETTER + 4 * PADDING
    x = MARGIN + PADDING + LANE_GAP * max(ups.values(), default=0) + width / 2
    right = x + width / 2 + PADDING + LANE_GAP * max(downs.values(), default=0)
    boxes: dict[str, Box] = {}
    y = float(TOP)
    for name in column:
        beside = others.get(name)
        height = _height(beside.lines if beside else (name,))
        boxes[name] = Box(x, y + height / 2, width, _height((name,)), (name,))
        if beside:
            own = max(map(len, beside.lines)) * LETTER + 2 * PADDING
            boxes[beside.name] = Box(right + COLUMN_GAP + own / 2, y + height / 2, own, height, beside.lines)
        y += height + ROW_GAP
    lanes = {edge: x - width / 2 - PADDING - LANE_GAP * lane for edge, lane in ups.items()}
    lanes |= {edge: x + width / 2 + PADDING + LANE_GAP * lane for edge, lane in downs.items()}
    end = max(right, *(box.x + box.width / 2 for box in boxes.values()))
    return Layout(boxes, lanes, end + MARGIN, y - ROW_GAP)


def _height(lines: Sequence[str]) -> float:
    return len(lines) * LINE + 2 * PADDING - 4


def _lanes(column: Sequence[str], edges: Sequence[Edge]) -> tuple[Mapping[Edge, int], Mapping[Edge, int]]:
    """The lanes of the lines that go up, and of those that go down and skip a row, counted from the boxes.

    Lines of one kind to the same state share a lane, so that sixty lines between thirty states stay readable.
    """
    row = {name: number for number, name in enumerate(column)}
    shared: dict[tuple[bool, str, bool], list[Edge]] = {}
    for edge in edges:
        if edge.target in row and row[edge.target] != row[edge.source] + 1:
            up = row[edge.target] < row[edge.source]
            shared.setdefault((up, edge.target, edge.on_error), []).append(edge)
    lanes: dict[bool, dict[Edge, int]] = {True: {}, False: {}}
    used: set[tuple[bool, int, int]] = set()
    spans = {kind: [row[kind[1]], *(row[edge.source] for edge in group)] for kind, group in shared.items()}
    for kind in sorted(shared, key=lambda kind: (max(spans[kind]) - min(spans[kind]), kind)):  # short ones near
        up, rows = kind[0], range(min(spans[kind]), max(spans[kind]) + 1)
        lane = next(n for n in count(1) if not any((up, n, each) in used for each in rows))
        used |= {(up, lane, each) for each in rows}
        lanes[up] |= dict.fromkeys(shared[kind], lane)
    return lanes[True], lanes[False]


def line(edge: Edge, drawn: Layout) -> Line:
    source, target = drawn.boxes[edge.source], drawn.boxes[edge.target]
    if (lane := drawn.lanes.get(edge)) is not None:
        return _in_lane(source, target, lane, OFF[edge.on_error])
    if source.y == target.y:
        tip = target.x - target.width / 2
        across = f"M{source.x + source.width / 2:.0f} {source.y:.0f}H{tip - HEAD:.0f}"
        return Line(across, across, (tip, target.y, 0))
    tip = target.y - target.height / 2
    down = f"M{source.x:.0f} {source.y + source.height / 2:.0f}V{tip - HEAD:.0f}"
    return Line(down, down, (target.x, tip, 90))


def _in_lane(source: Box, target: Box, lane: float, off: float) -> Line:
    """Sideways into its lane, along it, and back to the column."""
    side, down = (1 if lane > source.x else -1), (1 if target.y > source.y else -1)
    start, end = source.x + side * source.width / 2, target.x + side * target.width / 2
    below, above = source.y + down * off, target.y - down * off
    turn, back = f"q{side * ROUND} 0 {side * ROUND} {down * ROUND}", f"q0 {down * ROUND} {-side * ROUND} {down * ROUND}"
    into = f"M{start:.0f} {below:.0f}H{lane - side * ROUND:.0f}{turn}"
    path = f"{into}V{above - down * ROUND:.0f}{back}H{end + side * HEAD:.0f}"
    return Line(path, into, (end, above, 180 if side > 0 else 0))
