"""Shows on standard error how executions get on: the states as they are entered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.live import Live
from rich.text import Text

from cli.report import COLOURS, came_to, mark
from local import Execution

if TYPE_CHECKING:
    from local.cloud import LocalCloud

ARROW = " → "
SHOWN_PATHS = 12
GLANCE_S = 0.05
"""How often one execution is looked at: the delay that a person does not notice."""
SURVEY_S = 0.5
"""How often many are: a look at 200 takes some milliseconds from their work."""


def follow(cloud: LocalCloud, arn: str, console: Console) -> Execution:
    """Wait for an execution; each state is written when it is seen."""
    console.print(f"{arn.rpartition(':')[2][:8]}  ", end="", style="dim")
    shown = 0
    while True:
        ended = _ended(cloud, arn, GLANCE_S)
        states = (ended or cloud.describe(arn)).states
        new = "".join((ARROW if n else "") + states[n] for n in range(shown, len(states)))
        console.print(new, end="", style="dim", soft_wrap=True)
        shown = len(states)
        if ended:
            console.print(f"  {mark(ended)} {came_to(ended)}", style=COLOURS[mark(ended)], soft_wrap=True)
            return ended


def follow_all(cloud: LocalCloud, arns: Sequence[str], console: Console) -> list[Execution]:
    """Wait for all; how many took which path is shown, in a terminal also while they run."""
    ended: dict[str, Execution] = {}
    with Live(console=console, transient=True, auto_refresh=False) as live:
        for arn in arns:
            while arn not in ended:
                if execution := _ended(cloud, arn, SURVEY_S):
                    ended[arn] = execution
                elif console.is_terminal:
                    live.update(Text(_paths([ended.get(a) or cloud.describe(a) for a in arns])), refresh=True)
    executions = [ended[arn] for arn in arns]
    console.print(_paths(executions), style="dim", soft_wrap=True)
    return executions


def _paths(executions: Sequence[Execution]) -> str:
    """How many took which path, the most frequent first."""
    paths = Counter(each.states + ("…",) * (each.status == "RUNNING") for each in executions)
    lines = [f"{count:4} ×  {ARROW.join(path)}" for path, count in paths.most_common(SHOWN_PATHS)]
    left = len(paths) - len(lines)
    return "\n".join([*lines, *([f"       and {left} other paths"] if left else [])])


def _ended(cloud: LocalCloud, arn: str, seconds: float) -> Execution | None:
    try:
        return cloud.wait(arn, seconds)
    except TimeoutError:
        return None
