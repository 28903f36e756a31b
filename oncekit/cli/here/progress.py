"""Shows on standard error how executions get on: the states as they are entered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from oncekit.cli.here.names import shown_name
from oncekit.cli.here.report import mark, outcome
from oncekit.cli.outcomes import COLOURS
from oncekit.cli.paper import Paper
from oncekit.local import Execution

if TYPE_CHECKING:
    from oncekit.local.once_cloud import LocalCloud

SHOWN_PATHS = 12
GLANCE_S = 0.05
"""How often an execution is looked at: the delay that a person does not notice."""


def follow(cloud: LocalCloud, arn: str, paper: Paper) -> Execution:
    """Wait for an execution; each state is written when it is seen."""
    path = paper.path(f"{shown_name(arn)}  ", style="dim")
    shown = 0
    while True:
        ended = _ended(cloud, arn)
        states = (ended or cloud.describe(arn)).states
        path.add(states[shown:])
        shown = len(states)
        if ended:
            path.end(f"{mark(ended)} {outcome(ended)}", COLOURS[mark(ended)])
            return ended


def follow_all(cloud: LocalCloud, arns: Sequence[str], paper: Paper) -> list[Execution]:
    """Wait for all, and show how many took which path, the most frequent first."""
    executions = [_end_of(cloud, arn) for arn in arns]
    paths = Counter(each.states for each in executions)
    for states, count in paths.most_common(SHOWN_PATHS):
        path = paper.path(f"{count:4} ×  ", style="dim")
        path.add(states)
        path.end()
    if (left := len(paths) - SHOWN_PATHS) > 0:
        paper.line(f"       and {left} other paths", "dim")
    return executions


def _end_of(cloud: LocalCloud, arn: str) -> Execution:
    while (ended := _ended(cloud, arn)) is None:
        continue
    return ended


def _ended(cloud: LocalCloud, arn: str) -> Execution | None:
    try:
        return cloud.wait(arn, GLANCE_S)
    except TimeoutError:
        return None
