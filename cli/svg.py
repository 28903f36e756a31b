"""Draws a directed graph as SVG: layers by igraph, curves and boxes here."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from xml.sax.saxutils import escape, quoteattr

import igraph

BOX_WIDTH, BOX_HEIGHT = 176, 34
LAYER_GAP, COLUMN_GAP, BEND_GAP = 72, 192, 22
MARGIN = 28

STYLE = """
  svg { font: 13px system-ui, sans-serif; background: #fff; color: #1f2937; }
  .node rect { fill: #f8fafc; stroke: #64748b; stroke-width: 1.2; }
  .node text { text-anchor: middle; dominant-baseline: central; fill: #1f2937; }
  .choice rect { fill: #fef9c3; stroke: #a16207; }
  .wait rect { fill: #ede9fe; stroke: #6d28d9; }
  .start rect { fill: #dbeafe; stroke: #1d4ed8; }
  .success rect { fill: #dcfce7; stroke: #15803d; }
  .failure rect { fill: #fee2e2; stroke: #b91c1c; }
  .edge { fill: none; stroke: #94a3b8; stroke-width: 1.2; }
  .edge.error { stroke-dasharray: 4 3; }
  .taken rect { stroke-width: 3; }
  .taken text { font-weight: 600; }
  .edge.taken { stroke: #1d4ed8; stroke-width: 2.6; }
  .untaken { opacity: .45; }
  .legend { fill: #475569; font-size: 12px; }
  h1 { display: none; }
"""


@dataclass(frozen=True)
class Node:
    """A state; `kind` names its style: start, task, choice, wait, pass, success or failure."""

    name: str
    kind: str
    comment: str


@dataclass(frozen=True)
class Edge:
    source: str
    target: str
    on_error: bool


Point = tuple[float, float]


def drawing(nodes: list[Node], edges: list[Edge], taken: tuple[str, ...] = (), title: str = "") -> str:
    """The graph as an SVG document; what `taken` (names in order) went through is highlighted, the rest steps back."""
    at, routes = _layout(nodes, edges)
    steps = set(pairwise(taken))
    width = max(x for route in routes.values() for x, _ in route) + BOX_WIDTH / 2 + MARGIN
    height = max(y for _, y in at.values()) + BOX_HEIGHT / 2 + MARGIN + 24
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" role="img" aria-label={quoteattr("State machine " + title)}>',
        f"<title>{escape('State machine ' + title)}</title><style>{STYLE}</style>",
        *(_marker(name, colour) for name, colour in (("arrow", "#94a3b8"), ("arrow-taken", "#1d4ed8"))),
        '<rect width="100%" height="100%" fill="#fff"/>',
    ]
    ordered = sorted(edges, key=lambda e: (e.source, e.target) in steps)
    parts += [_edge(e, routes[e.source, e.target], (e.source, e.target) in steps, bool(taken)) for e in ordered]
    parts += [_node(n, at[n.name], n.name in taken, bool(taken)) for n in nodes]
    legend = "Solid: the next state. Dashed: taken on an error." + (f" Blue: the path of {title}." if taken else "")
    parts.append(f'<text class="legend" x="{MARGIN}" y="{height - 12:.0f}">{escape(legend)}</text></svg>')
    return "\n".join(parts) + "\n"


def _layers(nodes: list[Node], edges: list[Edge]) -> list[int]:
    """How far down each state is: below all that lead to it, where an edge back to an earlier state does not count."""
    index = {node.name: i for i, node in enumerate(nodes)}
    layers = [0] * len(nodes)
    for edge in sorted(edges, key=lambda e: index[e.source]):
        source, target = index[edge.source], index[edge.target]
        if target > source:
            layers[target] = max(layers[target], layers[source] + 1)
    return layers


def _layout(nodes: list[Node], edges: list[Edge]) -> tuple[dict[str, Point], dict[tuple[str, str], list[Point]]]:
    """Where each box is, and through which points each edge goes; igraph orders the layers."""
    index = {node.name: i for i, node in enumerate(nodes)}
    graph = igraph.Graph([(index[e.source], index[e.target]) for e in edges], n=len(nodes), directed=True)
    layout = graph.layout_sugiyama(layers=_layers(nodes, edges), hgap=1, vgap=1, maxiter=1000)
    points: list[Point] = [(x, y) for x, y in layout]
    chains: list[list[int]] = []
    for edge, bends in zip(edges, layout.edge_routing, strict=True):
        first = len(points)
        points += [(x, y) for x, y in bends]
        chains.append([index[edge.source], *range(first, len(points)), index[edge.target]])
    order: list[list[tuple[float, int]]] = [[] for _ in range(int(max(y for _, y in points)) + 1)]
    for number, (x, y) in enumerate(points):
        order[round(y)].append((x, number))
    rows = [[number for _, number in sorted(row)] for row in order]
    across = _across(rows, chains, len(nodes))
    left = min(across)
    placed = [
        (x - left + MARGIN + BOX_WIDTH / 2, y * LAYER_GAP + MARGIN + BOX_HEIGHT / 2)
        for x, (_, y) in zip(across, points, strict=True)
    ]
    routes = {(e.source, e.target): [placed[n] for n in chain] for e, chain in zip(edges, chains, strict=True)}
    return {name: placed[i] for name, i in index.items()}, routes


def _across(rows: list[list[int]], chains: list[list[int]], boxes: int) -> list[float]:
    """The horizontal places: each near its neighbours, in the order of its row, with room for what it is."""
    width = [float(COLUMN_GAP if n < boxes else BEND_GAP) for n in range(sum(map(len, rows)))]
    neighbours: list[list[int]] = [[] for _ in width]
    for chain in chains:
        for a, b in pairwise(chain):
            neighbours[a].append(b)
            neighbours[b].append(a)
    x = [0.0] * len(width)
    for _ in range(60):
        for row in (*rows, *reversed(rows)):
            wanted = [sum(x[m] for m in neighbours[n]) / max(len(neighbours[n]), 1) for n in row]
            placed: list[float] = []
            for n, want in zip(row, wanted, strict=True):
                least = placed[-1] + (width[row[len(placed) - 1]] + width[n]) / 2 if placed else want
                placed.append(max(want, least))
            shift = sum(w - p for w, p in zip(wanted, placed, strict=True)) / len(row)
            for n, place in zip(row, placed, strict=True):
                x[n] = place + shift
    return x


def _edge(edge: Edge, route: list[Point], taken: bool, some_taken: bool) -> str:
    down = route[-1][1] >= route[0][1]
    start = (route[0][0], route[0][1] + (BOX_HEIGHT / 2 if down else -BOX_HEIGHT / 2))
    end = (route[-1][0], route[-1][1] - (BOX_HEIGHT / 2 + 5 if down else -BOX_HEIGHT / 2 - 5))
    if not down:
        start, end = (start[0] + 14, start[1]), (end[0] + 14, end[1])
    points = [start, *route[1:-1], end]
    path = f"M{points[0][0]:.1f},{points[0][1]:.1f}"
    for (x1, y1), (x2, y2) in pairwise(points):
        middle = (y1 + y2) / 2
        path += f" C{x1:.1f},{middle:.1f} {x2:.1f},{middle:.1f} {x2:.1f},{y2:.1f}"
    classes = [
        "edge",
        *(["error"] if edge.on_error else []),
        *(["taken"] if taken else ["untaken"] if some_taken else []),
    ]
    marker = "arrow-taken" if taken else "arrow"
    return f'<path class="{" ".join(classes)}" d="{path}" marker-end="url(#{marker})"/>'


def _node(node: Node, at: Point, taken: bool, some_taken: bool) -> str:
    x, y = at
    radius = BOX_HEIGHT / 2 if node.kind in ("success", "failure", "start") else 3 if node.kind == "choice" else 8
    classes = ["node", node.kind, *(["taken"] if taken else ["untaken"] if some_taken else [])]
    return (
        f'<g class="{" ".join(classes)}"><title>{escape(node.comment)}</title>'
        f'<rect x="{x - BOX_WIDTH / 2:.1f}" y="{y - BOX_HEIGHT / 2:.1f}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" '
        f'rx="{radius}"/>'
        f'<text x="{x:.1f}" y="{y:.1f}">{escape(node.name)}</text></g>'
    )


def _marker(name: str, colour: str) -> str:
    return (
        f'<defs><marker id="{name}" viewBox="0 0 8 8" refX="5" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        f'<path d="M0,0 L8,4 L0,8 z" fill="{colour}"/></marker></defs>'
    )
