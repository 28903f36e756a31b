"""Where the boxes of the states are drawn, and the lines between them, in pixels."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count, pairwise
from math import ceil

from oncekit.console.drawing.graph import Edge, Node

LETTER, SMALL = 7.9, 6.3
"""Width of a letter in the widest of the usual fonts at 13 and at 11 px, so that the text fits with every one."""
WAY, PADDING, MARGIN, TOP, HEADING = 14, 11, 26, 74, 30
ROW, ROW_GAP, LANE_GAP, COLUMN_GAP = 34, 24, 8, 24
HEAD = 8
"""The length of a line's head."""
OFF = {False: (0, -7, 7, 14), True: (-3.5, -10.5, 3.5, 10.5)}
"""How far below the middle of a box lines arrive, arrive on an error, leave, and leave on an error, on its left and on
its right: in a gutter none of them is drawn over another one."""
MOST_COLUMNS = 4
"""More could not be read at the width of a page of GitHub."""

Point = tuple[float, float]
Lane = tuple[int, str, bool, bool]
"""The gutter beside a column, or the gap above a row, and what lines have in common that join in it: their target,
whether only errors take them, and whether they go back."""


@dataclass(frozen=True)
class Box:
    """Where a state is drawn: its centre and its size."""

    x: float
    y: float
    width: float
    height: float
    lines: Sequence[str]

    def side(self, x: float) -> float:
        """The side that looks there."""
        return self.x + self.width / 2 * (1 if x > self.x else -1)


@dataclass(frozen=True)
class Layout:
    boxes: Mapping[str, Box]
    headings: Mapping[str, Point]
    """The middle of each."""
    lines: Mapping[Edge, Sequence[Point]]
    """Of each its start, its corners, and the tip of its head."""
    width: float
    bottom: float


@dataclass(frozen=True)
class _Grid:
    """In which column and row states and headings are; lines go in the gutters beside columns, and between rows."""

    nodes: Mapping[str, Node]
    places: Mapping[str, tuple[int, int]]
    headings: Mapping[str, tuple[int, int]]

    def is_straight(self, edge: Edge) -> bool:
        """Down to the next state; an end has nothing below it."""
        source, (column, row) = self.nodes[edge.source], self.places[edge.source]
        return self.places[edge.target] == (column, row + 1) and not source.lines and source.kind != "finish"

    def way(self, edge: Edge) -> Sequence[Lane]:
        """The gutters in which a line leaves and arrives, and the gap in which it crosses the columns between them."""
        (source, row), (target, to) = self.places[edge.source], self.places[edge.target]
        back = (target, to) < (source, row)
        out, into = source + (not back), target + (source > target or (source == target and not back))
        return [(place, edge.target, edge.on_error, back) for place in (out, into, self._gap(to, out, into))]

    def _gap(self, row: int, *gutters: int) -> int:
        """As near to a row as no state is in the way."""
        between = range(min(gutters), max(gutters))
        spans = [(first, first + _rows(self.nodes[name])) for name, (at, first) in self.places.items() if at in between]
        near = (gap for off in count() for gap in (row - off, row + off) if gap >= 0)
        return next(gap for gap in near if not any(first < gap < last for first, last in spans))


def layout(nodes: Sequence[Node], edges: Sequence[Edge]) -> Layout:
    """Each section in a column, from top to bottom."""
    grid = _grid(nodes)
    bent = {edge: grid.way(edge) for edge in edges if not grid.is_straight(edge)}
    crossing: dict[Lane, list[float]] = defaultdict(list)
    for out, into, gap in bent.values():
        if out[0] != into[0]:
            crossing[gap] += out[0], into[0]
    middles, gaps, bottom = _down(grid, _packed(crossing))

    kept = [*gaps.values(), *(middles[name] + off for name in grid.places for off in (*OFF[True], *OFF[False]))]
    levels: dict[Edge, Sequence[float]] = {}
    passing: dict[Lane, list[float]] = defaultdict(list)
    for edge, (out, into, gap) in bent.items():
        start = middles[edge.source] + OFF[out[0] > grid.places[edge.source][0]][2 + edge.on_error]
        if edge.line:
            way = WAY * (edge.line - (len(grid.nodes[edge.source].lines) - 1) / 2)
            start = _beside(middles[edge.source] + way, kept)
            kept.append(start)
        tip = middles[edge.target] + OFF[into[0] > grid.places[edge.target][0]][edge.on_error]
        levels[edge] = start, gaps[gap] if out[0] != into[0] else tip, tip
        passing[out] += levels[edge][:2]
        passing[into] += levels[edge][1:]
    sides, gutters, width = _across(grid, _packed(passing, HEAD))

    boxes = {}
    for name, (column, _) in grid.places.items():
        (left, right), node = sides[column], grid.nodes[name]
        boxes[name] = Box((left + right) / 2, middles[name], right - left, _height(node), node.lines or (name,))
    lines: dict[Edge, Sequence[Point]] = {}
    for edge in edges:
        source, target = boxes[edge.source], boxes[edge.target]
        if edge in bent:
            out, into, _ = bent[edge]
            (start, turn, tip), first, last = levels[edge], gutters[out], gutters[into]
            corners = dict.fromkeys([(first, start), (first, turn), (last, turn), (last, tip)])
            lines[edge] = [(source.side(first), start), *corners, (target.side(last), tip)]
        else:
            lines[edge] = [(source.x, source.y + source.height / 2), (target.x, target.y - target.height / 2)]
    headings = {text: (sum(sides[at]) / 2, middles[text]) for text, (at, _) in grid.headings.items()}
    return Layout(boxes, headings, lines, width, bottom)


def _grid(nodes: Sequence[Node]) -> _Grid:
    """A column for each section; the shortest neighbours share one where there are too many."""
    sections: dict[str, list[Node]] = {}
    for node in nodes:
        sections.setdefault(node.section, []).append(node)
    columns = [[section] for section in sections]
    rows = {section: 1 + sum(map(_rows, inside)) for section, inside in sections.items()}
    while len(columns) > MOST_COLUMNS:
        pairs = [[*one, *other] for one, other in pairwise(columns)]
        first = min(range(len(pairs)), key=lambda n: sum(rows[section] for section in pairs[n]))
        columns[first : first + 2] = [pairs[first]]
    places: dict[str, tuple[int, int]] = {}
    headings: dict[str, tuple[int, int]] = {}
    for number, column in enumerate(columns):
        row = -1
        for section in column:
            headings |= {section: (number, row)} if section else {}
            row += 1
            for node in sections[section]:
                places[node.name] = (number, row)
                row += _rows(node)
    return _Grid({node.name: node for node in nodes}, places, headings)


def _height(node: Node) -> float:
    return ROW + WAY * (max(1, len(node.lines)) - 1)


def _rows(node: Node) -> int:
    return ceil((_height(node) + ROW_GAP) / (ROW + ROW_GAP))


def _width(node: Node) -> float:
    return max(len(node.name) * LETTER, *(len(line) * SMALL for line in node.lines[1:]), 0) + 2 * PADDING + 4


def _beside(y: float, kept: Sequence[float]) -> float:
    """Near to it, but not where other lines are."""
    near = sorted((y + off / 2 for off in range(-10, 11)), key=lambda at: abs(at - y))
    return max(near, key=lambda at: min(3, *(abs(at - other) for other in kept)))


def _packed(passing: Mapping[Lane, Sequence[float]], apart: float = 0) -> dict[Lane, int]:
    """Which place each has in its gutter or gap: the first one in which it touches no other, short ones first."""
    taken: dict[tuple[int, int], list[Point]] = defaultdict(list)
    found = {}
    spans = {lane: (min(ends), max(ends)) for lane, ends in passing.items()}
    for lane, (low, high) in sorted(spans.items(), key=lambda each: (each[1][1] - each[1][0], each[0])):
        lanes = (taken[lane[0], number] for number in count())
        found[lane], beside = next(
            (n, lane) for n, lane in enumerate(lanes) if all(high + apart < a or b + apart < low for a, b in lane)
        )
        beside.append((low, high))
    return found


def _down(grid: _Grid, lanes: Mapping[Lane, int]) -> tuple[dict[str, float], dict[Lane, float], float]:
    """The middles of states and headings, and of the lines above rows; and where the last row ends."""
    gaps: dict[Lane, float] = {}
    middles: dict[str, float] = dict.fromkeys(grid.headings, TOP - 10)
    bottom = y = float(TOP + (HEADING if grid.headings else 0))
    for row in range(1 + max(first + _rows(grid.nodes[name]) for name, (_, first) in grid.places.items())):
        inside = {lane: number for lane, number in lanes.items() if lane[0] == row}
        used = max(inside.values(), default=-2) + 2
        gap = max(ROW_GAP if row else 0, LANE_GAP * used)
        gaps |= {lane: y + gap / 2 + LANE_GAP * (number + 1 - used / 2) for lane, number in inside.items()}
        states = [grid.nodes[name] for name, (_, first) in grid.places.items() if first == row]
        middles |= {node.name: y + gap + _height(node) / 2 for node in states}
        middles |= {text: y + gap + ROW / 2 + 9 for text, (_, first) in grid.headings.items() if first == row}
        bottom, y = y, y + gap + ROW
    return middles, gaps, bottom


def _across(grid: _Grid, lanes: Mapping[Lane, int]) -> tuple[list[Point], dict[Lane, float], float]:
    """The sides of each column, the lanes in the gutters, and where the last gutter ends."""
    sides: list[Point] = []
    gutters: dict[Lane, float] = {}
    x = float(MARGIN)
    for gutter in range(max(column for column, _ in grid.places.values()) + 2):
        inside = {lane: number for lane, number in lanes.items() if lane[0] == gutter}
        used = max(inside.values(), default=-1) + 1
        for lane, number in inside.items():  # near the boxes first
            gutters[lane] = x + (PADDING + LANE_GAP * number if gutter else LANE_GAP * (used - number - 1))
        x += LANE_GAP * used + (COLUMN_GAP if gutter else PADDING * bool(used))
        widths = [_width(grid.nodes[name]) for name, (column, _) in grid.places.items() if column == gutter]
        sides.append((x, x + max(widths, default=0)))
        x = sides[-1][1]
    return sides, gutters, x - COLUMN_GAP + MARGIN
