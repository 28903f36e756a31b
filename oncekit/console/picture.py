"""How a run is shown: its end and its states by colour, sign and word, and its path on the state machine."""

from __future__ import annotations

from oncekit.console.drawing.graph import Definition, Mark, Taken, around, edges, nodes
from oncekit.console.drawing.svg import embedded
from oncekit.console.json_text import members_of
from oncekit.console.parts import Part
from oncekit.console.run import RUNNING, Outcome, Run, Visit

SIGNS = {
    "succeeded": "✓",
    "unmet": "○",
    "caught": "↷",
    "failed": "✗",
    "stopped": "■",
    "running": "●",
    "replayed": "↻",
}
"""Of states, executions and records, by the class of their colour."""
KINDS = {
    "IN_PROGRESS": "running",
    "COMPLETED": "succeeded",
    "FAILED": "failed",
    "QUARANTINED": "stopped",
    "RELEASED": "stopped",
    "REFUSED": "failed",
}
"""The class of an operation's colour and sign, by its status."""
WORDS = {"caught": "failed, caught", "unmet": "its condition did not hold"}


def kind_and_outcome(run: Run, part: Part) -> tuple[str, str]:
    """The class of an execution's colour and sign, and its end in the word that commands use, too.

    What a duplicate gets is an answer, also where that is the failure of another one.
    """
    if run.status == RUNNING:
        return "running", "RUNNING"
    if run.status != "SUCCEEDED":
        kind = "failed" if run.status == "FAILED" else "stopped"
        return ("replayed" if part.role == "duplicate" else kind), run.error or run.status
    disposition = str(members_of(run.output).get("disposition") or run.status)
    return ("succeeded" if disposition in ("EXECUTED", run.status) else "replayed"), disposition


def picture(definition: Definition, run: Run) -> str:
    """The path of a run for a page, each state a link to where the page describes it."""
    went = taken(run)
    path = around(nodes(definition), edges(definition), went.steps or [definition["StartAt"]])
    return embedded(*path, went, f"The path of {run.name}")


def taken(run: Run) -> Taken:
    """What a run took; of a state that was entered more than once, what became of it the last time.

    States within a Map have no place of their own in the picture.
    """
    drawn = [each for each in run.visits if each.parent is None]
    last = {each.state: each for each in drawn}
    retries = {name: sum(each.retries for each in drawn if each.state == name) for name in last}
    return Taken(
        steps=[each.state for each in drawn],
        marks={name: _mark(visit, retries[name]) for name, visit in last.items()},
        links={name: f"#visit-{visit.number}" for name, visit in last.items()},
    )


def words_of(outcome: Outcome, retries: int) -> str:
    """`failed, caught, 2 retries`."""
    again = "" if not retries else f", {retries} {'retry' if retries == 1 else 'retries'}"
    return WORDS.get(outcome, outcome) + again


def _mark(visit: Visit, retries: int) -> Mark:
    sign = SIGNS[visit.outcome] + (f" ↻{retries}" if retries else "")
    return Mark(visit.outcome, sign, words_of(visit.outcome, retries))
