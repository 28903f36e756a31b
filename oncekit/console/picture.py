"""The picture of a state machine, and of a run in it."""

from __future__ import annotations

import functools
import threading

from oncekit.console.drawing.vertices import NOTHING_TAKEN, Edge, Mark, Node, Taken
from oncekit.console.machine import Definition, edges, nodes
from oncekit.console.run import Outcome, Run, Visit

WITHIN = "graph"
"""The class of a picture in a page."""
SIGNS: dict[Outcome, str] = {
    "succeeded": "✓",
    "caught": "↷",
    "failed": "✗",
    "stopped": "■",
    "running": "●",
    "redriven": "⟲",
}
WORDS: dict[Outcome, str] = {
    "succeeded": "succeeded",
    "caught": "failed, caught",
    "failed": "failed",
    "stopped": "stopped",
    "running": "running",
    "redriven": "redriven",
}


def picture(definition: Definition, run: Run | None, heading: str) -> str:
    """An SVG document; with a run also its path, and what became of each state."""
    from oncekit.console.drawing.svg import drawing  # slow to import

    return drawing(nodes(definition), edges(definition), NOTHING_TAKEN if run is None else taken(run), heading)


def picture_in_page(definition: Definition, run: Run) -> str:
    """The same for a page, each state a link to where the page describes it."""
    from oncekit.console.drawing.svg import embedded

    lay_out(definition)
    return embedded(nodes(definition), edges(definition), taken(run, links=True), f"The path of {run.name}", WITHIN)


def prepare() -> None:
    """Import what draws, which takes a while the first time."""
    import oncekit.console.drawing.svg  # noqa: F401


def lay_out(definition: Definition) -> None:
    """Find the places of the states, which takes a second or two; once for a definition, and by one thread."""
    from oncekit.console.drawing.geometry import geometry

    drawn = tuple(nodes(definition)), tuple(edges(definition))
    with _laying_out(*drawn):
        geometry(*drawn)


@functools.lru_cache(maxsize=8)
def _laying_out(nodes: tuple[Node, ...], edges: tuple[Edge, ...]) -> threading.Lock:
    """Of each picture its own: who opens another one does not wait for it."""
    return threading.Lock()


def taken(run: Run, links: bool = False) -> Taken:
    """What a run took; of a state that was entered more than once, what became of it the last time.

    States within a Map or a Parallel have no place of their own in the picture.
    """
    drawn = [each for each in run.visits if each.outcome != "redriven" and each.parent is None]
    last = {each.state: each for each in drawn}
    retries = {name: sum(each.retries for each in drawn if each.state == name) for name in last}
    return Taken(
        steps=[each.state for each in drawn],
        marks={name: _mark(visit, retries[name]) for name, visit in last.items()},
        links={name: f"#visit-{visit.number}" for name, visit in last.items()} if links else {},
    )


def _mark(visit: Visit, retries: int) -> Mark:
    again = "" if not retries else f", {retries} {'retry' if retries == 1 else 'retries'}"
    sign = SIGNS[visit.outcome] + (f" ↻{retries}" if retries else "")
    return Mark(visit.outcome, sign, WORDS[visit.outcome] + again)
