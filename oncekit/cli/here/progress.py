"""Shows on standard error how executions get on: the states as they are entered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from oncekit.cli.here.report import COLOURS, came_to, mark
from oncekit.cli.paper import Paper
from oncekit.local import Execution

if TYPE_CHECKING:
    from oncekit.local.once_cloud import LocalCloud

ARROW = " → "
SHOWN_PATHS = 12
GLANCE_S = 0.05
"""How often one execution is looked at: the delay that a person does not notice."""
SURVEY_S = 0.5
"""How often many are: a look at 200 takes some milliseconds from their work."""


def follow(cloud: LocalCloud, arn: str, paper: Paper) -> Execution:
    """Wait for an execution; each state is written when it is seen."""
    paper.line(f"{arn.rpartition(':')[2][:8]}  ", "dim", end="")
    shown = 0
    while True:
        ended = _ended(cloud, arn, GLANCE_S)
        states = (ended or cloud.describe(arn)).states
        new = "".join((ARROW if n else "") + states[n] for n in range(shown, len(states)))
        paper.line(new, "dim", end="")
        shown = len(states)
        if ended:
            paper.line(f"  {mark(ended)} {came_to(ended)}", COLOURS[mark(ended)])
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
                    show(_paths([ended.get(a) or cloud.describe(a) for a in arns]))
    executions = [ended[arn] for arn in arns]
    for line in _paths(executions):
        paper.line(line, "dim")
    return executions


def _paths(executions: Sequence[Execution]) -> list[str]:
    """How many took which path, the most frequent first."""
    paths = Counter(each.states + ("…",) * (each.status == "RUNNING") for each in executions)
    lines = [f"{count:4} ×  {ARROW.join(path)}" for path, count in paths.most_common(SHOWN_PATHS)]
    left = len(paths) - len(lines)
    return [*lines, *([f"       and {left} other paths"] if left else [])]


def _ended(cloud: LocalCloud, arn: str, seconds: float) -> Execution | None:
    try:
        return cloud.wait(arn, seconds)
    except TimeoutError:
        return None
