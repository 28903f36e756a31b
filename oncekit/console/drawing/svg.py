"""Writes a state machine as SVG: boxes by the type of state, lines, the path that a run took."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from xml.sax.saxutils import escape

from oncekit.console.drawing.graph import Definition, Edge, Node, Taken, edges, nodes
from oncekit.console.drawing.layout import HEAD, LINE, MARGIN, PADDING, TOP, Box, Layout, layout, line
from oncekit.console.visible import visible

STYLE = Path(__file__).parents[1] / "pages" / "picture.css"
LEGEND_WIDTH = 210
CROP = 38
"""How far above its first state a picture without a heading begins."""
KINDS = {"task": "task", "choice": "choice", "wait": "wait", "done": "success", "failed": "failure"}
LINES = {"next state": "", "on an error": "error", "back to an earlier state": "up"}


def drawing(definition: Definition, heading: str) -> str:
    """A state machine as an SVG document of its own, as in docs/."""
    every, ways = nodes(definition), edges(definition)
    drawn = layout(every, ways)
    width, height = drawn.width + LEGEND_WIDTH, drawn.bottom + MARGIN
    parts = [
        f"<title>{_text(heading)}</title><style>{STYLE.read_text('utf-8')}</style>",
        f'<rect class="paper" x=".5" y=".5" width="{width - 1:.0f}" height="{height - 1:.0f}" rx="12"/>',
        f'<text class="heading" x="{MARGIN}" y="34">{_text(heading)}</text>',
        *_graph(every, ways, drawn, Taken()),
        _legend(drawn.width),
    ]
    return _svg(0, width, height, "img", heading, parts) + "\n"


def embedded(states: Sequence[Node], ways: Sequence[Edge], taken: Taken, label: str) -> str:
    """The graph alone, for a page that has the style: without paper, heading and legend."""
    drawn = layout(states, ways)
    top = TOP - CROP
    return _svg(top, drawn.width, drawn.bottom + MARGIN - top, "group", label, _graph(states, ways, drawn, taken))


def _svg(top: float, width: float, height: float, role: str, label: str, parts: Sequence[str]) -> str:
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="graph" viewBox="0 {top} {width:.0f} {height:.0f}" '
            f'width="{width:.0f}" height="{height:.0f}" role="{role}" aria-label="{_text(label)}">',
            *parts,
            "</svg>",
        ]
    )


def _graph(states: Sequence[Node], ways: Sequence[Edge], drawn: Layout, taken: Taken) -> list[str]:
    first = drawn.boxes[states[0].name].x
    start = f'<circle class="head" cx="{first:.0f}" cy="{TOP - 24}" r="5"/>'
    parts = [f'<g>{start}<path class="line" d="M{first:.0f} {TOP - 22}v14"/>{_head(first, TOP, 90)}</g>']
    steps = set(pairwise(taken.steps))
    seen: set[tuple[str, bool, float]] = set()
    for edge in sorted(ways, key=lambda e: ((e.source, e.target) in steps, -_length(e, drawn))):
        state = ("taken" if (edge.source, edge.target) in steps else "untaken") if taken.steps else ""
        shared = (edge.target, edge.on_error, drawn.lanes.get(edge, 0))
        # One that joins a line which is there already ends there: dashes over dashes would be a solid line.
        parts.append(_edge(edge, drawn, state, joins=shared in seen and state != "taken"))
        seen.add(shared)
    return [*parts, *(_state(node, drawn.boxes[node.name], taken) for node in states)]


def _length(edge: Edge, drawn: Layout) -> float:
    return abs(drawn.boxes[edge.source].y - drawn.boxes[edge.target].y)


def _text(value: str) -> str:
    """As text of an element, or in an attribute: XML has no control characters, and its reader obeys what is markup."""
    return escape(visible(value), {'"': "&quot;"})


def _classes(*names: str) -> str:
    return _text(" ".join(filter(None, names)))


def _head(x: float, y: float, direction: int) -> str:
    """With its tip at a point; 0 degrees is to the right."""
    return f'<path class="head" d="M-{HEAD}-4v8l{HEAD}-4z" transform="translate({x:.0f} {y:.0f}) rotate({direction})"/>'


def _edge(edge: Edge, drawn: Layout, state: str, joins: bool) -> str:
    up = drawn.boxes[edge.target].y < drawn.boxes[edge.source].y
    way = line(edge, drawn)
    why = f": {edge.reason}" if edge.reason else ""
    return (
        f'<g class="{_classes("up" if up else "", "error" if edge.on_error else "", state)}">'
        f"<title>{_text(f'{edge.source} → {edge.target}{why}')}</title>"
        f'<path class="line" d="{way.joined if joins else way.path}"/>{"" if joins else _head(*way.head)}</g>'
    )


def _state(node: Node, box: Box, taken: Taken) -> str:
    visits = [number for number, name in enumerate(taken.steps, 1) if name == node.name]
    mark = taken.marks.get(node.name)
    first = box.y - (len(box.lines) - 1) * LINE / 2 + 4.5
    parts = [_shape(node.kind, box)]
    parts += [
        f'<text x="{box.x:.0f}" y="{first + LINE * n:.0f}">{_text(text)}</text>' for n, text in enumerate(box.lines)
    ]
    if visits:
        when = ",".join(map(str, visits)) if len(visits) < 4 else f"{visits[0]}…{visits[-1]}"
        parts.append(_badge("step", when, box.x - box.width / 2 + 3, box.y - box.height / 2))
    if mark:
        parts.append(_badge("sign", mark.sign, box.x + box.width / 2 - 3, box.y - box.height / 2))
    words = f" ({mark.words})" if mark else ""
    classes = _classes(node.kind, ("taken" if visits else "untaken") if taken.steps else "", mark.kind if mark else "")
    about = _text(f"{node.name}{words}: {node.comment}")
    drawn = f'<g class="{classes}"><title>{about}</title>{"".join(parts)}</g>'
    link = taken.links.get(node.name)
    return drawn if link is None else f'<a href="{_text(link)}" data-state="{_text(node.name)}">{drawn}</a>'


def _shape(kind: str, box: Box) -> str:
    left, top = box.x - box.width / 2, box.y - box.height / 2
    if kind == "choice":
        tip = min(PADDING, box.height / 2)
        return (
            f'<path class="box" d="M{left:.0f} {box.y:.0f}l{tip} {-box.height / 2:.0f}h{box.width - 2 * tip:.0f}'
            f'l{tip} {box.height / 2:.0f}l{-tip} {box.height / 2:.0f}h{2 * tip - box.width:.0f}z"/>'
        )
    radius = box.height / 2 if kind in ("success", "failure") else min(7, box.height / 4)
    size = f'width="{box.width:.0f}" height="{box.height:.0f}" rx="{radius:.0f}"'
    return f'<rect class="box" x="{left:.0f}" y="{top:.0f}" {size}/>'


def _badge(kind: str, label: str, x: float, y: float) -> str:
    """In a corner of a box."""
    half = max(9, len(label) * 3.6 + 6)
    return (
        f'<g class="badge {kind}"><rect x="{x - half:.0f}" y="{y - 9:.0f}" width="{2 * half:.0f}" height="18" rx="9"/>'
        f'<text x="{x:.0f}" y="{y + 4:.0f}">{_text(label)}</text></g>'
    )


def _legend(x: float) -> str:
    lines = {words: _sample(x, classes) for words, classes in LINES.items()}
    boxes = {
        words: f'<g class="{kind}">{_shape(kind, Box(x + 13, -4, 26, 14, ()))}</g>' for words, kind in KINDS.items()
    }
    parts = [
        f'<g transform="translate(0 {TOP + 24 * n})">{sample}<text x="{x + 46:.0f}">{words}</text></g>'
        for n, (words, sample) in enumerate({**boxes, **lines}.items())
    ]
    return f'<g class="legend">{"".join(parts)}</g>'


def _sample(x: float, classes: str) -> str:
    return f'<g class="{classes}"><path class="line" d="M{x:.0f} -4h26"/>{_head(x + 34, -4, 0)}</g>'
