"""The picture of a state machine, and of a run in it."""

from __future__ import annotations

from oncekit.console.drawing.graph import NOTHING_TAKEN, Definition, Mark, Taken, edges, nodes
from oncekit.console.run import Outcome, Run, Visit

SIGNS: dict[Outcome, str] = {
    "succeeded": "✓",
    "unmet": "○",
    "caught": "↷",
    "failed": "✗",
    "stopped": "■",
    "running": "●",
}
WORDS = {"caught": "failed, caught", "unmet": "its condition did not hold"}


def picture(definition: Definition, run: Run | None, heading: str) -> str:
    """An SVG document; with a run also its path, and what became of each state."""
    from oncekit.console.drawing.svg import drawing  # slow to import

    return drawing(nodes(definition), edges(definition), NOTHING_TAKEN if run is None else taken(run), heading)


def picture_in_page(definition: Definition, run: Run) -> str:
    """The same for a page, each state a link to where the page describes it."""
    from oncekit.console.drawing.svg import embedded

    return embedded(nodes(definition), edges(definition), taken(run, links=True), f"The path of {run.name}")


def taken(run: Run, links: bool = False) -> Taken:
    """What a run took; of a state that was entered more than once, what became of it the last time.

    States within a Map have no place of their own in the picture.
    """
    drawn = [each for each in run.visits if each.parent is None]
    last = {each.state: each for each in drawn}
    retries = {name: sum(each.retries for each in drawn if each.state == name) for name in last}
    return Taken(
        steps=[each.state for each in drawn],
        marks={name: _mark(visit, retries[name]) for name, visit in last.items()},
        links={name: f"#visit-{visit.number}" for name, visit in last.items()} if links else {},
    )


def words_of(outcome: Outcome, retries: int) -> str:
    """`failed, caught, 2 retries`."""
    again = "" if not retries else f", {retries} {'retry' if retries == 1 else 'retries'}"
    return WORDS.get(outcome, outcome) + again


def _mark(visit: Visit, retries: int) -> Mark:
    sign = SIGNS[visit.outcome] + (f" ↻{retries}" if retries else "")
    return Mark(visit.outcome, sign, words_of(visit.outcome, retries))
