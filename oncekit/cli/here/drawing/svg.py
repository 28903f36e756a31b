"""Writes a state machine as SVG: boxes by the type of state, curves, the path that a run took."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from xml.sax.saxutils import escape, quoteattr

from oncekit.cli.here.drawing.geometry import HEAD, LINE, MARGIN, PADDING, TOP, Box, Point, geometry
from oncekit.cli.here.drawing.vertices import Edge, Node, Vertex
from oncekit.cli.terminal import visible

LEGEND_LETTER = 6.9
BOTTOM, LEGEND_WIDTH = 62, 1060

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


def drawing(nodes: Sequence[Node], edges: Sequence[Edge], taken: Sequence[str] = (), heading: str = "") -> str:
    """The graph as an SVG document, the first node as its start.

    What `taken` (names in order) went through is highlighted, the rest steps back.
    """
    drawn = geometry(nodes, edges)
    width = max(drawn.width, len(heading) * 10 + 2 * MARGIN, LEGEND_WIDTH)
    height = drawn.bottoms[-1] + BOTTOM
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" role="img" aria-label={quoteattr(visible(heading))}>',
        f"<title>{_text(heading)}</title><style>{STYLE}</style>",
        f'<rect class="paper" x=".5" y=".5" width="{width - 1:.0f}" height="{height - 1:.0f}" rx="12"/>',
        f'<text class="heading" x="{MARGIN}" y="34">{_text(heading)}</text>',
        _start(drawn.boxes[nodes[0].name]),
    ]
    steps = set(pairwise(taken))
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
    for node in nodes:
        visits = [number for number, name in enumerate(taken, 1) if name == node.name]
        parts.append(_state(node, drawn.boxes[node.name], visits, bool(taken)))
    return "\n".join([*parts, _legend(height - 26, bool(taken)), "</svg>"]) + "\n"


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


def _state(node: Node, box: Box, visits: Sequence[int], some_taken: bool) -> str:
    classes = " ".join(filter(None, (_text(node.kind), ("taken" if visits else "untaken") if some_taken else "")))
    first = box.y - (len(box.lines) - 1) * LINE / 2 + 4.5
    lines = "".join(
        f'<text x="{box.x:.0f}" y="{first + LINE * n:.0f}">{_text(line)}</text>' for n, line in enumerate(box.lines)
    )
    step = _step(box, visits) if visits else ""
    about = f"<title>{_text(f'{node.name}: {node.comment}')}</title>"
    return f'<g class="{classes}">{about}{_shape(node.kind, box)}{lines}{step}</g>'


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


def _step(box: Box, visits: Sequence[int]) -> str:
    """When the run was there, in a corner of the box."""
    label = ",".join(map(str, visits)) if len(visits) < 4 else f"{visits[0]}…{visits[-1]}"
    x, y = box.x - box.width / 2 + 3, box.y - box.height / 2
    half = max(9, len(label) * 3.6 + 4)
    return (
        f'<g class="step"><rect x="{x - half:.0f}" y="{y - 9:.0f}" width="{2 * half:.0f}" height="18" rx="9"/>'
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
