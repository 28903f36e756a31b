"""Writes a state machine as SVG: boxes by the type of state, curves, the path that a run took."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from xml.sax.saxutils import escape, quoteattr

from oncekit.console.drawing.geometry import HEAD, LINE, MARGIN, PADDING, TOP, Box, Geometry, Point, geometry
from oncekit.console.drawing.vertices import NOTHING_TAKEN, Edge, Node, Taken, Vertex
from oncekit.console.visible import visible

LEGEND_LETTER = 6.9
BOTTOM, LEGEND_WIDTH = 62, 1060
CROP = 38
"""How far above its first state a picture without a heading begins."""

STYLE = """
.paper { fill: #ffffff; stroke: #e2e8f0; }
text { font: 13px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; fill: #1e293b; text-anchor: middle; }
.heading { font-size: 16px; font-weight: 600; text-anchor: start; }
.legend text { font-size: 12px; fill: #475569; text-anchor: start; }
.box { fill: #f1f5f9; stroke: #64748b; stroke-width: 1.3; }
.choice .box { fill: #fef3c7; stroke: #b45309; }
.wait .box { fill: #ede9fe; stroke: #7c3aed; }
.success .box, .finish .box { fill: #dcfce7; stroke: #15803d; }
.failure .box { fill: #fee2e2; stroke: #b91c1c; }
.line { fill: none; stroke: #94a3b8; stroke-width: 1.4; }
.head { fill: #94a3b8; stroke: none; }
.up .line { stroke: #a78bfa; }
.up .head { fill: #a78bfa; }
.error .line { stroke-dasharray: 5 4; }
.taken .line { stroke: #2563eb; stroke-width: 2.8; }
.taken .head { fill: #2563eb; }
.taken .box { stroke-width: 2.8; }
.taken text { font-weight: 600; }
.untaken { opacity: .42; }
.step rect { fill: #2563eb; }
.step text { font-size: 10.5px; font-weight: 700; fill: #ffffff; }
@media (prefers-color-scheme: dark) {
.paper { fill: #0f172a; stroke: #1e293b; }
text { fill: #e2e8f0; }
.legend text { fill: #94a3b8; }
.box { fill: #1e293b; stroke: #94a3b8; }
.choice .box { fill: #422f0a; stroke: #fbbf24; }
.wait .box { fill: #3b2170; stroke: #a78bfa; }
.success .box, .finish .box { fill: #14401f; stroke: #4ade80; }
.failure .box { fill: #4c1519; stroke: #f87171; }
.line { stroke: #64748b; }
.head { fill: #64748b; }
.up .line { stroke: #8b5cf6; }
.up .head { fill: #8b5cf6; }
.taken .line { stroke: #60a5fa; }
.taken .head, .step rect { fill: #60a5fa; }
.step text { fill: #0f172a; }
}
"""
SIGNS = """
.sign rect { fill: #15803d; }
.sign text { font-size: 11px; font-weight: 700; fill: #ffffff; }
.caught .sign rect { fill: #b45309; }
.failed .sign rect, .stopped .sign rect { fill: #b91c1c; }
.running .sign rect { fill: #2563eb; }
@media (prefers-color-scheme: dark) {
.sign text { fill: #0f172a; }
.sign rect { fill: #4ade80; }
.caught .sign rect { fill: #fbbf24; }
.failed .sign rect, .stopped .sign rect { fill: #f87171; }
.running .sign rect { fill: #60a5fa; }
}
"""


def style(within: str) -> str:
    """The same rules for pictures in a page: they hold within elements of a class only."""
    lines = []
    for line in (STYLE + SIGNS).strip().split("\n"):
        selectors, brace, rest = line.partition(" {")
        if brace and not selectors.startswith("@"):
            selectors = ", ".join(f".{within} {each.strip()}" for each in selectors.split(","))
        lines.append(selectors + brace + rest)
    return "\n".join(lines) + "\n"


def drawing(nodes: Sequence[Node], edges: Sequence[Edge], taken: Taken = NOTHING_TAKEN, heading: str = "") -> str:
    """The graph as an SVG document, the first node as its start.

    What was taken is highlighted, the rest steps back.
    """
    drawn = geometry(tuple(nodes), tuple(edges))
    width = max(drawn.width, len(heading) * 10 + 2 * MARGIN, LEGEND_WIDTH)
    height = drawn.bottoms[-1] + BOTTOM
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" role="img" aria-label={quoteattr(visible(heading))}>',
        f"<title>{_text(heading)}</title><style>{STYLE}{SIGNS if taken else ''}</style>",
        f'<rect class="paper" x=".5" y=".5" width="{width - 1:.0f}" height="{height - 1:.0f}" rx="12"/>',
        f'<text class="heading" x="{MARGIN}" y="34">{_text(heading)}</text>',
        *_graph(nodes, edges, drawn, taken),
        _legend(height - 26, bool(taken)),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def embedded(nodes: Sequence[Node], edges: Sequence[Edge], taken: Taken, label: str, within: str) -> str:
    """The graph alone, for a page: without paper, heading and legend; the page has `style(within)`."""
    drawn = geometry(tuple(nodes), tuple(edges))
    top = TOP - CROP
    height = drawn.bottoms[-1] + MARGIN - top
    return "\n".join(
        [
            f'<svg class="{within}" viewBox="0 {top} {drawn.width:.0f} {height:.0f}" width="{drawn.width:.0f}" '
            f'height="{height:.0f}" role="group" aria-label={quoteattr(visible(label))}>',
            *_graph(nodes, edges, drawn, taken),
            "</svg>",
        ]
    )


def _graph(nodes: Sequence[Node], edges: Sequence[Edge], drawn: Geometry, taken: Taken) -> list[str]:
    parts = [_start(drawn.boxes[nodes[0].name])]
    steps = set(pairwise(taken.steps))
    joined: set[Vertex] = set()
    for edge in sorted(edges, key=lambda e: (e.source, e.target) in steps):
        state = ("taken" if (edge.source, edge.target) in steps else "untaken") if taken else ""
        if edge.source == edge.target:
            parts.append(_loop(edge, drawn.boxes[edge.source], state))
            continue
        points, bends = drawn.points(edge), drawn.placed.ways[edge][1:-1]
        joins = next((n for n, bend in enumerate(bends, 1) if bend in joined), 0) if state != "taken" else 0
        parts.append(_edge(edge, points[: 2 * joins] or points, state, arrives=not joins))
        joined.update(bends)
    return [*parts, *(_state(node, drawn.boxes[node.name], taken) for node in nodes)]


def _text(value: str) -> str:
    """As text of an element, or in an attribute: XML has no control characters, and its reader obeys what is markup."""
    return escape(visible(value), {'"': "&quot;"})


def _start(box: Box) -> str:
    return (
        f'<g><circle class="head" cx="{box.x:.0f}" cy="{TOP - 24}" r="5"/>'
        f'<path class="line" d="M{box.x:.0f} {TOP - 22}v14"/>{_head(box.x, TOP - HEAD, HEAD)}</g>'
    )


def _loop(edge: Edge, box: Box, state: str) -> str:
    x, y = box.x + box.width / 2, box.y
    return (
        f'<g class="{state}"><title>{_text(f"{edge.source} again")}</title>'
        f'<path class="line" d="M{x:.0f} {y - 8:.0f}h6a8 8 0 0 1 0 16h-2"/>'
        f'<path class="head" d="M{x + HEAD:.0f} {y + 4:.0f}v8l{-HEAD} -4z"/></g>'
    )


def _head(x: float, y: float, length: float) -> str:
    return f'<path class="head" d="M{x - 4:.0f} {y:.0f}h8l-4 {length}z"/>'


def _edge(edge: Edge, points: Sequence[Point], state: str, arrives: bool = True) -> str:
    """A curve with its head; one that joins a line which is there already has none."""
    up = points[-1][1] < points[0][1]
    path = f"M{points[0][0]:.0f} {points[0][1]:.0f}"
    for number, ((x1, y1), (x2, y2)) in enumerate(pairwise(points)):
        if number % 2 or round(x1) == round(x2):
            path += f"L{x2:.0f} {y2:.0f}"
        else:
            bow = (y2 - y1) * 0.55
            path += f"C{x1:.0f} {y1 + bow:.0f} {x2:.0f} {y2 - bow:.0f} {x2:.0f} {y2:.0f}"
    x, y = points[-1]
    head = _head(x, y, -HEAD if up else HEAD) if arrives else ""
    classes = " ".join(filter(None, ("up" if up else "", "error" if edge.on_error else "", state)))
    why = f": {edge.reason}" if edge.reason else ""
    return (
        f'<g class="{classes}"><title>{_text(f"{edge.source} → {edge.target}{why}")}</title>'
        f'<path class="line" d="{path}"/>{head}</g>'
    )


def _state(node: Node, box: Box, taken: Taken) -> str:
    visits = [number for number, name in enumerate(taken.steps, 1) if name == node.name]
    mark = taken.marks.get(node.name)
    way = ("taken" if visits else "untaken") if taken else ""
    classes = " ".join(filter(None, (_text(node.kind), way, mark.kind if mark else "")))
    first = box.y - (len(box.lines) - 1) * LINE / 2 + 4.5
    lines = "".join(
        f'<text x="{box.x:.0f}" y="{first + LINE * n:.0f}">{_text(line)}</text>' for n, line in enumerate(box.lines)
    )
    if visits:
        lines += _badge("step", _numbers(visits), box.x - box.width / 2 + 3, box.y - box.height / 2)
    if mark:
        lines += _badge("sign", _text(mark.sign), box.x + box.width / 2 - 3, box.y - box.height / 2)
    words = f" ({mark.words})" if mark else ""
    about = f"<title>{_text(f'{node.name}{words}: {node.comment}')}</title>"
    drawn = f'<g class="{classes}">{about}{_shape(node.kind, box)}{lines}</g>'
    if (link := taken.links.get(node.name)) is None:
        return drawn
    return f"<a href={quoteattr(link)} data-state={quoteattr(visible(node.name))}>{drawn}</a>"


def _shape(kind: str, box: Box) -> str:
    left, top = box.x - box.width / 2, box.y - box.height / 2
    if kind == "choice":
        tip = min(PADDING, box.height / 2)
        return (
            f'<path class="box" d="M{left:.0f} {box.y:.0f}l{tip} {-box.height / 2:.0f}h{box.width - 2 * tip:.0f}'
            f'l{tip} {box.height / 2:.0f}l{-tip} {box.height / 2:.0f}h{2 * tip - box.width:.0f}z"/>'
        )
    radius = box.height / 2 if kind in ("success", "failure") else min(7, box.height / 4)
    return (
        f'<rect class="box" x="{left:.0f}" y="{top:.0f}" width="{box.width:.0f}" height="{box.height:.0f}" '
        f'rx="{radius:.0f}"/>'
    )


def _numbers(visits: Sequence[int]) -> str:
    """When the run was there."""
    return ",".join(map(str, visits)) if len(visits) < 4 else f"{visits[0]}…{visits[-1]}"


def _badge(kind: str, label: str, x: float, y: float) -> str:
    """In a corner of a box."""
    half = max(9, len(label) * 3.6 + 4)
    return (
        f'<g class="{kind}"><rect x="{x - half:.0f}" y="{y - 9:.0f}" width="{2 * half:.0f}" height="18" rx="9"/>'
        f'<text x="{x:.0f}" y="{y + 4:.0f}">{label}</text></g>'
    )


def _legend(y: float, some_taken: bool) -> str:
    samples = [("", "next state"), ("error", "on an error"), ("up", "back to an earlier state")]
    if some_taken:
        samples.append(("taken", "this run"))
    parts, x = [], float(MARGIN)
    for kind, words in (
        ("task", "task"),
        ("choice", "choice"),
        ("wait", "wait"),
        ("success", "done"),
        ("failure", "failed"),
    ):
        parts.append(f'<g class="{kind}">{_shape(kind, Box(x + 13, y - 4, 26, 14, ()))}</g>')
        parts.append(f'<text x="{x + 33:.0f}" y="{y:.0f}">{words}</text>')
        x += 33 + len(words) * LEGEND_LETTER + 16
    for classes, words in samples:
        parts.append(
            f'<g class="{classes}"><path class="line" d="M{x:.0f} {y - 4:.0f}h26"/>'
            f'<path class="head" d="M{x + 26:.0f} {y - 8:.0f}v8l8 -4z"/></g>'
            f'<text x="{x + 42:.0f}" y="{y:.0f}">{words}</text>'
        )
        x += 42 + len(words) * LEGEND_LETTER + 16
    return f'<g class="legend">{"".join(parts)}</g>'
