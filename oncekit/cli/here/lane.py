"""The lane that a command starts in the local cloud, and what the fast lane hands over there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncekit.cli import lanes
from oncekit.cli.problem import Problem
from oncekit.local.lanes import FULL, MACHINES, Lane

if TYPE_CHECKING:
    from oncekit.local.once_cloud import LocalCloud

HANDED_OVER = ("handover-", "first-")
"""How the names of executions begin that the fast lane starts in the full lane."""


def lane_to_start(cloud: LocalCloud, given: Lane | None) -> Lane:
    """The lane of --lane, or else of the template's parameter. Raises Problem where the template has not that lane."""
    lane = lanes.lane_to_start(given, cloud.parameters)
    if MACHINES[lane] not in cloud.outputs:
        raise Problem(
            f"--lane {lane}: the template has no such lane (no output {MACHINES[lane]}); use a newer template"
        )
    return lane


def handed_over(cloud: LocalCloud) -> list[str]:
    """The executions that the fast lane has started in the full lane, oldest first."""
    started = cloud.executions.of(cloud.outputs[MACHINES[FULL]])
    return [each.exec_arn for each in started if each.name.startswith(HANDED_OVER)]
