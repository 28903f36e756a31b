"""Shows on standard error how executions get on: the states as they are entered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from oncekit.cli.here.names import shown_name
from oncekit.cli.here.report import mark, outcome
from oncekit.cli.outcomes import COLOURS
from oncekit.cli.paper import ARROW, Paper
from oncekit.local import Execution

if TYPE_CHECKING:
    from oncekit.local.once_cloud import LocalCloud

SHOWN_PATHS = 12
GLANCE_S = 0.05
"""How often one execution is looked at: the delay that a person does not notice."""
SURVEY_S = 0.5
"""How often many are: a look at 200 takes some milliseconds from their work."""


def follow(cloud: LocalCloud, arn: str, paper: Paper) -> Execution:
    """Wait for an execution; each state is written when it is seen."""
    path = paper.path(f"{shown_name(arn)}  ", style="dim")
    shown = 0
    while True:
        ended = _ended(cloud, arn, GLANCE_S)
        states = (ended or cloud.describe(arn)).states
        path.add(states[shown:])
        shown = len(states)
        if ended:
            path.end(f"{mark(ended)} {outcome(ended)}", COLOURS[mark(ended)])
            return ended


def follow_all(cloud: LocalCloud, arns: Sequence[str], paper: Paper) -> list[Execution]:
    """Wait for all; how many took which path is shown, in a terminal also while they run."""
    ended: dict[str, Execution] = {}
    with paper.changing() as show:
        for arn in arns:
            while arn not in ended:
                if execution := _ended(cloud, arn, SURVEY_S):
                    ended[arn] = execution
                elif paper.is_terminal:
                    show(_lines([ended.get(a) or cloud.describe(a) for a in arns]))
    executions = [ended[arn] for arn in arns]
    paths, left = _paths(executions)
    for count, states in paths:
        path = paper.path(_times(count), style="dim")
        path.add(states)
        path.end()
    for line in left:
        paper.line(line, "dim")
    return executions


def _lines(executions: Sequence[Execution]) -> list[str]:
    paths, left = _paths(executions)
    return [*(_times(count) + ARROW.join(states) for count, states in paths), *left]


def _times(count: int) -> str:
    return f"{count:4} ×  "


def _paths(executions: Sequence[Execution]) -> tuple[list[tuple[int, tuple[str, ...]]], list[str]]:
    """How many took which path, the most frequent first, and a line about those that are left out."""
    paths = Counter(each.states + ("…",) * (each.status == "RUNNING") for each in executions)
    left = len(paths) - SHOWN_PATHS
    shown = [(count, path) for path, count in paths.most_common(SHOWN_PATHS)]
    return shown, [f"       and {left} other paths"] if left > 0 else []


def _ended(cloud: LocalCloud, arn: str, seconds: float) -> Execution | None:
    try:
        return cloud.wait(arn, seconds)
    except TimeoutError:
        return None
