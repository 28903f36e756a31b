"""The two lanes: which one the triggers start, and which operations never run in the fast one."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from oncekit.cli.doctor.deployment import Deployment
from oncekit.cli.doctor.functions import has_function, wanted
from oncekit.cli.doctor.verdict import Check, Verdict, ok, warning
from oncekit.local.lanes import FULL

TRIGGERS = {"QueueTrigger": "the queue", "EventTrigger": "the bus"}


def checks(deployment: Deployment) -> Iterator[Check]:
    if "Lane" in deployment.stack.parameters:  # not in a stack of a version without lanes
        yield Check("lanes.triggers", "Lane", partial(_triggers, deployment))
        yield Check("lanes.operations", "FullLaneOperations", partial(_operations, deployment))


def _triggers(deployment: Deployment) -> Verdict:
    """Says what is so; that rule and pipe do start that lane, triggers.py looks at."""
    parameters = deployment.stack.parameters
    lane = parameters.get("Lane", FULL)
    on = [name for switch, name in TRIGGERS.items() if parameters.get(switch, "true") == "true"]
    return ok(
        f"{' and '.join(on)} start{'' if len(on) > 1 else 's'} the {lane} lane"
        if on
        else "none is on; only direct starts run"
    )


def _operations(deployment: Deployment) -> Verdict:
    given = deployment.stack.parameters.get("FullLaneOperations", "")
    names = [each.strip() for each in given.split(",") if each.strip()]
    if not names:
        return ok("none is kept out of the fast lane")
    if missing := [each for each in names if not has_function(deployment, each)]:
        return warning(
            f"no function {', '.join(wanted(deployment, each) for each in missing)} with the alias live: is "
            f"{', '.join(missing)} written as the operation is? Business logic of another name runs in the fast lane",
            f"deploy with the right names in FullLaneOperations (it is {given}), or deploy the function",
        )
    return ok(f"{', '.join(names)} never in the fast lane")
