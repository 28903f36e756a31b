"""`once run`: requests through the local cloud."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from oncekit.cli.deployed.requests.files import read_event
from oncekit.cli.here.cloud import local_cloud
from oncekit.cli.here.parameters import Parameters, given
from oncekit.cli.lanes import LaneOption, chosen, lane_to_start
from oncekit.cli.options import Json, Template
from oncekit.cli.output import printed
from oncekit.cli.template import find_event, find_template
from oncekit.cli.terminal import tell
from oncekit.local.lanes import FULL, MACHINES, Lane

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oncekit.local import Clock
    from oncekit.local.once_cloud import LocalCloud

HANDED_OVER = "first-"
"""How the names of executions begin that the fast lane starts in the full lane."""


Events = Annotated[list[str], typer.Argument(metavar="EVENT", help="Request files (JSON); - reads standard input.")]
Times = Annotated[int, typer.Option("--times", metavar="N", min=1, max=1000, help="Repeat each request N times.")]
Concurrently = Annotated[bool, typer.Option("--concurrently", help="Start all requests at the same time.")]


def run(
    events: Events,
    times: Times = 1,
    concurrently: Concurrently = False,
    lane: LaneOption = None,
    parameter: Parameters = None,
    as_json: Json = False,
    template: Template = None,
) -> None:
    """Run requests in the local cloud. Shows the result of each, and says in plain words what happened to each id.

    Without --lane, they start in the lane that the template's parameter Lane names, as with `once send` and the
    triggers. Executions of the full lane to which the fast lane hands a request over are shown, too.

    The exit code is that of `once send --wait`: 1 if a request failed, else 3 if one is in conflict or in progress.
    IN_PROGRESS does not count once the result under that id is known.

    JSON: {executions: [...], summaries: {id: text}, sideEffects: {businessLogicStarts, tables}}.
    """
    raise typer.Exit(_run(events, times, concurrently, chosen(lane), given(parameter), as_json, template))


def _run(
    events: Sequence[str],
    times: int,
    concurrently: bool,
    lane: Lane | None,
    parameters: Mapping[str, str],
    as_json: bool,
    template: Path | None,
) -> int:
    path = find_template(template)
    requests = [text for event in events for text in [read_event(find_event(event, path))] * times]
    from oncekit.cli.here.effects import Effects
    from oncekit.cli.here.progress import follow
    from oncekit.local import VirtualClock

    with local_cloud(path, VirtualClock(), parameters=parameters) as cloud:
        effects = Effects(cloud)
        to_start = lane_to_start(lane, cloud.parameters)
        if concurrently:
            with standing_still(cloud.clock):
                arns = [cloud.start(request, lane=to_start) for request in requests]
            executions = [follow(cloud, arn, as_json) for arn in arns]
        else:
            executions = [follow(cloud, cloud.start(request, lane=to_start), as_json) for request in requests]
        executions += [follow(cloud, arn, as_json) for arn in _handed_over(cloud)]
        happened = effects.since()
        denials = cloud.denials()
        output = list(printed(cloud))
    from oncekit.cli.here import report

    if as_json:
        report.print_json(executions, happened)
    else:
        tell("")
        report.print_table(executions, happened)
    tell(*output)
    report.tell_denials(denials)
    return report.exit_code(executions)


def _handed_over(cloud: LocalCloud) -> list[str]:
    """The executions that the fast lane has started in the full lane, oldest first."""
    started = cloud.executions.of(cloud.outputs[MACHINES[FULL]])
    return [each.exec_arn for each in started if each.name.startswith(HANDED_OVER)]


@contextmanager
def standing_still(clock: Clock) -> Iterator[None]:
    """Virtual time stands still meanwhile: what is started inside starts at once."""
    clock.enter()
    try:
        yield
    finally:
        clock.leave()
