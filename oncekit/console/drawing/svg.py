"""Writes a state machine as SVG: boxes by the type of state, lines, the path that a run took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from xml.sax.saxutils import escape

from oncekit.console.drawing.graph import Edge, Node, Taken
from oncekit.console.drawing.layout import HEAD, MARGIN, PADDING, SMALL, TOP, WAY, Box, Layout, Point, layout
from oncekit.console.visible import visible

ROUND = 6
CROP = 38
"""How far above its first state a picture without a heading begins."""
MOST_NAMED = 3
"""Ways that a state could have taken instead, up to which each is named."""


def embedded(states: Sequence[Node], ways: Sequence[Edge], taken: Taken, label: str) -> str:
    """The graph alone, for a page that has the style: without paper, heading and legend."""
    drawn = layout(states, ways)
    top = TOP - CROP
    parts, width = graph(states, ways, drawn, taken), drawn.width
    for node in (each for each in states if each.instead):
        lines = node.instead if len(node.instead) <= MOST_NAMED else [f"or {len(node.instead)} others"]
        x, y = drawn.width - PADDING, drawn.boxes[node.name].y + 4 - WAY * (len(lines) - 1) / 2
        width = max(width, x + max(map(len, lines)) * SMALL + PADDING)
        texts = (f'<text x="{x:.0f}" y="{y + WAY * n:.0f}">{as_text(line)}</text>' for n, line in enumerate(lines))
        parts.append(f'<g class="instead"><title>{as_text(", ".join(node.instead))}</title>{"".join(texts)}</g>')
    return svg(top, width, drawn.bottom + MARGIN - top, "group", label, parts)


def svg(top: float, width: float, height: float, role: str, label: str, parts: Sequence[str]) -> str:
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="graph" viewBox="0 {top} {width:.0f} {height:.0f}" '
            f'width="{width:.0f}" height="{height:.0f}" role="{role}" aria-label="{as_text(label)}">',
            *parts,
            "</svg>",
        ]
    )


def graph(states: Sequence[Node], ways: Sequence[Edge], drawn: Layout, taken: Taken) -> list[str]:
    first = drawn.boxes[states[0].name]
    x, y = first.x, first.y - first.height / 2
    start = f'<circle class="head" cx="{x:.0f}" cy="{y - 24:.0f}" r="5"/>'
    parts = [f'<g>{start}<path class="line" d="M{x:.0f} {y - 22:.0f}v14"/>{head(x, y, 90)}</g>']
    for text, (x, y) in drawn.headings.items():
        parts.append(f'<text class="section" x="{x:.0f}" y="{y:.0f}">{as_text(text)}</text>')
    steps = set(pairwise(taken.steps))
    for edge in sorted(ways, key=lambda each: (each.source, each.target) in steps):
        state = ("taken" if (edge.source, edge.target) in steps else "untaken") if taken.steps else ""
        source, target = drawn.boxes[edge.source], drawn.boxes[edge.target]
        parts.append(_edge(edge, drawn.lines[edge], (target.x, target.y) < (source.x, source.y), state))
    sides = {(edge.source, edge.line): points[0][0] for edge, points in drawn.lines.items() if edge.line}
    return [*parts, *(_state(node, drawn.boxes[node.name], sides, taken) for node in states)]


def as_text(value: str) -> str:
    """As text of an element, or in an attribute: XML has no control characters, and its reader obeys what is markup."""
    return escape(visible(value), {'"': "&quot;"})


def _classes(*names: str) -> str:
    return as_text(" ".join(filter(None, names)))


def head(x: float, y: float, direction: int) -> str:
    """With its tip at a point; 0 degrees is to the right."""
    return f'<path class="head" d="M-{HEAD}-4v8l{HEAD}-4z" transform="translate({x:.0f} {y:.0f}) rotate({direction})"/>'


def _edge(edge: Edge, points: Sequence[Point], up: bool, state: str) -> str:
    why = f": {edge.reason}" if edge.reason else ""
    before, tip = points[-2:]
    direction = 90 if before[0] == tip[0] else 0 if before[0] < tip[0] else 180
    return (
        f'<g class="{_classes("up" if up else "", "error" if edge.on_error else "", state)}">'
        f"<title>{as_text(f'{edge.source} → {edge.target}{why}')}</title>"
        f'<path class="line" d="{_path([_towards(tip, before, HEAD), *points[-2::-1]])}"/>{head(*tip, direction)}</g>'
    )


def _path(points: Sequence[Point]) -> str:
    """With round corners; from its head, so that the dashes of lines that join are the same ones."""
    parts = [f"M{points[0][0]:.0f} {points[0][1]:.0f}"]
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        near, far = _towards(corner, before, ROUND), _towards(corner, after, ROUND)
        parts.append("L{:.0f} {:.0f}Q{:.0f} {:.0f} {:.0f} {:.0f}".format(*near, *corner, *far))
    return "".join([*parts, f"L{points[-1][0]:.0f} {points[-1][1]:.0f}"])


def _towards(start: Point, end: Point, far: float) -> Point:
    """At a distance from a point, and not beyond the middle between both."""
    whole = abs(end[0] - start[0]) + abs(end[1] - start[1])
    part = min(far / whole, 0.5) if whole else 0
    return start[0] + (end[0] - start[0]) * part, start[1] + (end[1] - start[1]) * part


def _state(node: Node, box: Box, sides: Mapping[tuple[str, int], float], taken: Taken) -> str:
    visits = [number for number, name in enumerate(taken.steps, 1) if name == node.name]
    mark = taken.marks.get(node.name)
    first = box.y - (len(box.lines) - 1) * WAY / 2 + 4.5
    parts = [shape(node.kind, box)]
    for n, text in enumerate(box.lines):
        x, side = box.x, ""
        if (node.name, n) in sides:  # beside the line that leaves there
            right = sides[node.name, n] > x
            x, side = sides[node.name, n] + (-7 if right else 7), f' class="way {"right" if right else "left"}"'
        parts.append(f'<text{side} x="{x:.0f}" y="{first + WAY * n:.0f}">{as_text(text)}</text>')
    if visits:
        when = ",".join(map(str, visits)) if len(visits) < 4 else f"{visits[0]}…{visits[-1]}"
        parts.append(_badge("step", when, box.x - box.width / 2 + 3, box.y - box.height / 2))
    if mark:
        parts.append(_badge("sign", mark.sign, box.x + box.width / 2 - 3, box.y - box.height / 2))
    words = f" ({mark.words})" if mark else ""
    classes = _classes(node.kind, ("taken" if visits else "untaken") if taken.steps else "", mark.kind if mark else "")
    about = as_text(f"{node.name}{words}: {node.comment}")
    drawn = f'<g class="{classes}"><title>{about}</title>{"".join(parts)}</g>'
    link = taken.links.get(node.name)
    return drawn if link is None else f'<a href="{as_text(link)}" data-state="{as_text(node.name)}">{drawn}</a>'


def shape(kind: str, box: Box) -> str:
    left, top = box.x - box.width / 2, box.y - box.height / 2
    if kind == "choice":
        tip = min(PADDING, box.height / 2)
        slope = min(17, box.height / 2)
        return (
            f'<path class="box" d="M{left:.0f} {top + slope:.0f}l{tip} {-slope}h{box.width - 2 * tip:.0f}l{tip} {slope}'
            f'v{box.height - 2 * slope:.0f}l{-tip} {slope}h{2 * tip - box.width:.0f}l{-tip} {-slope}z"/>'
        )
    radius = box.height / 2 if kind in ("success", "failure") else min(7, box.height / 4)
    size = f'width="{box.width:.0f}" height="{box.height:.0f}" rx="{radius:.0f}"'
    return f'<rect class="box" x="{left:.0f}" y="{top:.0f}" {size}/>'


def _badge(kind: str, label: str, x: float, y: float) -> str:
    """In a corner of a box."""
    half = max(9, len(label) * 3.6 + 6)
    return (
        f'<g class="badge {kind}"><rect x="{x - half:.0f}" y="{y - 9:.0f}" width="{2 * half:.0f}" height="18" rx="9"/>'
        f'<text x="{x:.0f}" y="{y + 4:.0f}">{as_text(label)}</text></g>'
    )
