"""`once run`: requests through the local cloud."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from threading import TIMEOUT_MAX
from typing import TYPE_CHECKING, Annotated, Any

import typer

from oncekit.cli.here.opening import local_cloud
from oncekit.cli.options import Json, LaneOption, Parameters, Template, lane_to_start, values_of
from oncekit.cli.outcomes import COLOURS
from oncekit.cli.output import Attempts, is_of_lambda
from oncekit.cli.template import find_event, find_template
from oncekit.cli.terminal import tell
from oncekit.cli.user_files import no_request, read_event, where
from oncekit.console.parts import RECOVERY
from oncekit.contract.lanes import FULL, MACHINES
from oncekit.contract.requests import names_nothing

if TYPE_CHECKING:
    from oncekit.local import Execution
    from oncekit.local.once_cloud import LocalCloud

HANDED_OVER = ("first-", RECOVERY)
"""How the names of executions begin that the fast lane starts in the full lane: of a lock that it released as the sweep
does."""

MOST_LINES = 40
"""Of one function, the newest."""

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
) -> int:
    """Run requests in the local cloud. Shows the result of each, and says in plain words what happened to each id.

    Without --lane, they start in the lane that the template's parameter Lane names, as with `once send` and the
    triggers. Executions of the full lane to which the fast lane hands a request over are shown, too.

    The exit code is that of `once send --wait`: 1 if a request failed, else 3 if one is in conflict or in progress.
    IN_PROGRESS does not count once the result under that id is known.

    JSON: {executions: [...], summaries: {id: text}, sideEffects: {businessLogicStarts, tables}}.
    """
    path = find_template(template)
    given = [(event, read_event(find_event(event, path))) for event in events]
    requests = [text for _, text in given for _ in range(times)]
    from oncekit.local import VirtualClock

    with local_cloud(path, VirtualClock(), parameters=values_of(parameter)) as cloud:
        to_start = lane_to_start(lane, cloud.once.parameters)
        for request in requests:
            cloud.check_that_it_runs(request)
        with ExitStack() as at_once:
            if concurrently:  # virtual time stands still until all are started
                at_once.enter_context(cloud.clock.held())
            started = (cloud.start(request, lane=to_start) for request in requests)
            arns = list(started) if concurrently else started
        executions = [_follow(cloud, arn, as_json) for arn in arns]
        executions += [_follow(cloud, arn, as_json) for arn in _handed_over(cloud)]
        effects = _effects(cloud)
        denials = cloud.denials()
        output = list(printed(cloud))
    from oncekit.cli.here import report

    if as_json:
        report.print_json(executions, effects)
    else:
        tell("")
        report.print_table(executions, effects)
    tell(*output)
    report.tell_denials(denials)
    tell(*(no_request(where(event)) for event, text in given if names_nothing(text)))
    return report.exit_code(executions)


def _follow(cloud: LocalCloud, arn: str, quiet: bool) -> Execution:
    """Wait for an execution, and show its path on standard error."""
    from oncekit.cli.here.report import mark, outcome, shown_name  # Rich takes its time: meanwhile a function starts
    from oncekit.cli.paper import Paper

    paper = Paper(error=True, quiet=quiet)
    ended = cloud.wait(arn, TIMEOUT_MAX)
    paper.path(f"{shown_name(arn)}  ", ended.states, f"{mark(ended)} {outcome(ended)}", end_style=COLOURS[mark(ended)])
    return ended


def _handed_over(cloud: LocalCloud) -> list[str]:
    """The executions that the fast lane has started in the full lane, oldest first."""
    started = cloud.executions.of(cloud.once.outputs[MACHINES[FULL]])
    return [each.arn for each in started if each.name.startswith(HANDED_OVER)]


def _effects(cloud: LocalCloud) -> dict[str, Any]:
    """Starts of business logic by operation, and items by table of the functions (logical id): all empty before."""
    starts = Counter(each.operation for each in cloud.invocations())
    own = cloud.once.outputs["TableName"]
    tables = {name: count for name, count in cloud.item_counts().items() if cloud.resources[name] != own}
    return {"businessLogicStarts": dict(starts), "tables": tables}


def printed(cloud: LocalCloud) -> Iterator[str]:
    """What the functions that were invoked printed and logged, the newest last."""
    invoked = (cloud.operations.operations_of(each.function, each.event) for each in cloud.functions.invocations)
    for operation in sorted({operations[0] for operations in invoked if operations}):
        attempts = Attempts()
        own = (line for line in cloud.logs(operation) if not is_of_lambda(line))
        lines = [each for line in own for each in attempts.lines_of(line)]
        if (left_out := len(lines) - MOST_LINES) > 0:
            yield f"{operation} | … {left_out:,} earlier lines"
        yield from (f"{operation} | {line}" for line in lines[-MOST_LINES:])
