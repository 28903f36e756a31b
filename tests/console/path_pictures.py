"""The paths that docs/step-functions-console.md shows: of a new request, a duplicate, and a run that takes over."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from machine_pictures import STYLE
from scenario import charge

from oncekit.cli.here.chosen_faults import fault_of
from oncekit.console.drawing.graph import around, edges, nodes
from oncekit.console.drawing.svg import embedded
from oncekit.console.here import run_here
from oncekit.console.picture import taken
from oncekit.local import Execution, LocalCloud

LEASE_AND_SWEEP_S = 160


def path_pictures(cloud: LocalCloud) -> Iterator[tuple[str, str]]:
    """The file and the text of each; the clock of the cloud is moved."""
    yield _drawn(cloud, "new", cloud.run(charge("order-2001")), "A new request, from ReceiveRequest to Finalize")
    again = cloud.run(charge("order-2001"))
    yield _drawn(cloud, "duplicate", again, "A duplicate, from ReceiveRequest to ReturnStoredResponse")
    with cloud.intercept(fault_of(cloud, "dies-after", "dead-owner")):
        cloud.start(json.dumps(charge("order-2002")), "dead-owner")
        cloud.settle()
    with cloud.delivering():
        cloud.clock.advance(LEASE_AND_SWEEP_S)  # type: ignore[attr-defined]
        cloud.settle()
    started = [each for machine in cloud.executions.machines for each in machine.executions]
    [recovery] = [each.arn for each in started if each.name.startswith("recover-")]
    yield _drawn(
        cloud,
        "take-over",
        cloud.executions.describe(recovery),
        "An execution that takes over the lock of an owner that died",
    )


def _drawn(cloud: LocalCloud, name: str, execution: Execution, label: str) -> tuple[str, str]:
    definition: Mapping[str, Any] = json.loads(cloud.executions.find(execution.arn).machine.definition)
    went = replace(taken(run_here(execution)), links={})
    parts = around(nodes(definition), edges(definition), went.steps)
    head, _, body = embedded(*parts, went, label).partition("\n")
    top = head.split('viewBox="')[1].split()[1]
    paper = f'<rect class="paper" y="{top}" width="100%" height="100%"/>'
    return f"path-{name}.svg", f"{head}<style>{STYLE}</style>{paper}\n{body}\n"
