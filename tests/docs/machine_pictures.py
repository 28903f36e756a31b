"""Draws a state machine of Once as a document of its own, as in docs/: with paper, heading and legend."""

from __future__ import annotations

from oncekit.console.drawing.graph import Definition, Taken, edges, nodes
from oncekit.console.drawing.layout import MARGIN, PADDING, SMALL, Box, layout
from oncekit.console.drawing.svg import as_text, graph, head, shape, svg
from oncekit.console.pages import FOLDER

STYLE = (
    (FOLDER / "picture.css").read_text("utf-8")
    + """
.graph .paper { fill: #ffffff; stroke: #e2e8f0; }
.graph .heading { font-size: 16px; font-weight: 600; text-anchor: start; }
.graph .section { font-weight: 600; }
.graph .way { font-size: 11px; text-anchor: start; }
.graph .way.right { text-anchor: end; }
.graph .legend text { font-size: 12px; text-anchor: start; }
@media (prefers-color-scheme: dark) { .graph .paper { fill: #0f172a; stroke: #1e293b; } }
"""
)
LEGEND_WIDTH, LEGEND_HEIGHT = 940, 34
KINDS = {"task": "task", "choice": "choice", "wait": "wait", "done": "success", "failed": "failure"}
LINES = {"next state": "", "on an error": "error", "back to an earlier state": "up"}


def drawing(definition: Definition, heading: str) -> str:
    every, ways = nodes(definition), edges(definition)
    drawn = layout(every, ways)
    width, height = max(drawn.width, LEGEND_WIDTH), drawn.bottom + MARGIN + LEGEND_HEIGHT
    parts = [
        f"<title>{as_text(heading)}</title><style>{STYLE}</style>",
        f'<rect class="paper" x=".5" y=".5" width="{width - 1:.0f}" height="{height - 1:.0f}" rx="12"/>',
        f'<text class="heading" x="{MARGIN}" y="34">{as_text(heading)}</text>',
        *graph(every, ways, drawn, Taken()),
        _legend(height - MARGIN),
    ]
    return svg(0, width, height, "img", heading, parts) + "\n"


def _legend(y: float) -> str:
    boxes = {words: f'<g class="{kind}">{shape(kind, Box(13, -4, 26, 14, ()))}</g>' for words, kind in KINDS.items()}
    lines = {
        words: f'<g class="{classes}"><path class="line" d="M0-4h22"/>{head(30, -4, 0)}</g>'
        for words, classes in LINES.items()
    }
    parts, x = [], float(MARGIN)
    for words, sample in {**boxes, **lines}.items():
        parts.append(f'<g transform="translate({x:.0f} {y:.0f})">{sample}<text x="38">{words}</text></g>')
        x += 38 + len(words) * SMALL + 2 * PADDING
    return f'<g class="legend">{"".join(parts)}</g>'
