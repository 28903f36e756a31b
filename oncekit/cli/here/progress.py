"""Shows on standard error how executions ended: by which path."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncekit.cli.outcomes import COLOURS
from oncekit.local import Execution

if TYPE_CHECKING:
    from oncekit.local.once_cloud import LocalCloud

GLANCE_S = 0.05
"""How often an execution is looked at: the delay that a person does not notice, also of an interrupt."""


def follow(cloud: LocalCloud, arn: str, quiet: bool) -> Execution:
    """Wait for an execution, and show its path."""
    from oncekit.cli.here.report import mark, outcome, shown_name  # Rich takes its time: meanwhile a function starts
    from oncekit.cli.paper import Paper

    paper = Paper(error=True, quiet=quiet)
    while (ended := _ended(cloud, arn)) is None:
        continue
    paper.path(f"{shown_name(arn)}  ", ended.states, f"{mark(ended)} {outcome(ended)}", end_style=COLOURS[mark(ended)])
    return ended


def _ended(cloud: LocalCloud, arn: str) -> Execution | None:
    try:
        return cloud.wait(arn, GLANCE_S)
    except TimeoutError:
        return None
