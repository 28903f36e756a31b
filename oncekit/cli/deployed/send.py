"""`once send`: a request to a deployed stack; ways.py knows the ways."""

from __future__ import annotations

import json
from collections.abc import Sequence
from shlex import quote
from typing import Annotated, Any

import typer

from oncekit.cli.deployed import ends, ways
from oncekit.cli.deployed.on_stack import CONFLICT, answered, on_stack
from oncekit.cli.deployed.session import Place
from oncekit.cli.deployed.stack import Stack
from oncekit.cli.options import Json, LaneOption, Profile, Region, StackName, chosen_lane, lane_to_start
from oncekit.cli.outcomes import COLOURS, exit_code, mark_of
from oncekit.cli.terminal import say
from oncekit.cli.user_files import read_event, where
from oncekit.console.requests import id_in
from oncekit.local.lanes import FAST, MACHINES, Lane
from oncekit.problem import Problem

Event = Annotated[str, typer.Argument(metavar="EVENT", help="A request file (JSON); - reads standard input.")]
Via = Annotated[
    str,
    typer.Option("--via", metavar="WAY", autocompletion=lambda: ways.WAYS, help="eventbridge, sqs or direct."),
]
Duplicates = Annotated[int, typer.Option("--duplicates", metavar="N", min=0, max=1000, help="Send it N more times.")]
Wait = Annotated[bool, typer.Option("--wait", help="Wait for the end of each execution, and show its result.")]
Timeout = Annotated[
    int, typer.Option("--timeout", metavar="SECONDS", min=1, help="With --wait: how long to wait for each at most.")
]


def send(
    event: Event,
    via: Via = ways.DIRECT,
    lane: LaneOption = None,
    duplicates: Duplicates = 0,
    wait: Wait = False,
    timeout: Timeout = 300,
    as_json: Json = False,
    stack: StackName = "once",
    profile: Profile = None,
    region: Region = None,
) -> int:
    """Send a request to a deployed stack or to `once up`.

    Prints the id of each event, message or execution.

    On standard error it says how to ask `once show` for the request: by its own id, not by that of an execution.

    --lane is for executions that are started directly. Without it, they start in the lane that the stack's parameter
    Lane names, like events and messages.

    With --wait, for direct starts, it also prints how each execution ended. In the fast lane, whose executions cannot
    be looked up later, it starts them synchronously (StartSyncExecution) and waits for 5 minutes at most. A request
    that the fast lane hands over to the full lane is IN_PROGRESS then: `--lane full` waits for its result. The exit
    code is that of `once run`: 1 if a request failed, else 3 if one is in conflict or in progress. IN_PROGRESS does
    not count once the result under that id is known.

    JSON: {id, via, to, sent: [...], ended: [{of, outcome, result, resultRef, message}]}, `ended` only with --wait.
    """
    if via not in ways.WAYS:
        raise Problem(f"--via {via}: there are {', '.join(ways.WAYS)}")
    if lane and via != ways.DIRECT:
        raise Problem(f"--lane: the stack's parameter Lane says where --via {via} starts; leave out one of the two")
    if wait and via != ways.DIRECT:
        raise Problem(f"--wait: it is for direct starts; leave out --via {via}, or ask `once show ID` later")
    wanted, request = chosen_lane(lane), read_event(event)
    with on_stack(Place(stack, profile, region), where(event)) as there:
        start_in = lane_to_start(wanted, there.parameters)
        if wait:
            return _wait(there, request, start_in, 1 + duplicates, timeout, as_json)
        done = _about(request, ways.send(there, request, via, 1 + duplicates, start_in), as_json)
        return answered(done, as_json)


def _wait(stack: Stack, request: str, lane: Lane, times: int, seconds: int, as_json: bool) -> int:
    if lane == FAST:
        looked = ends.synchronous(stack, request, times, seconds)
        sent = [each.of for each in looked if isinstance(each, ends.Ended)]
        done = _about(request, {"via": ways.DIRECT, "to": stack.outputs[MACHINES[FAST]], "sent": sent}, as_json)
    else:
        done = _about(request, ways.send(stack, request, ways.DIRECT, times), as_json)
        looked = [ends.execution_end(stack, arn, seconds) for arn in done["sent"]]
    ended = [each for each in looked if isinstance(each, ends.Ended)]
    late = [each for each in looked if isinstance(each, str)]
    for each in late:
        _tell(f"once: {each}")
    if not as_json and ended:
        _print(ended)
    answered({**done, "ended": [each.as_json() for each in ended]}, as_json)
    code = exit_code((str(done["id"]), each.outcome) for each in ended)
    return code or (CONFLICT if late else 0)


def _about(request: str, done: dict[str, Any], as_json: bool) -> dict[str, Any]:
    """What was sent, with the id of the request; people are told both."""
    id = id_in(request)
    if not as_json:
        say(*done["sent"])
        refused = "It names no id, so it is refused: `once ls --rejected` shows it then."
        _tell(refused if id is None else f"`once show {quote(id)}` tells how it stands.")
    return {"id": id, **done}


def _tell(text: str) -> None:
    from oncekit.cli.paper import Paper

    Paper(error=True).paragraph(text)


def _print(ended: Sequence[ends.Ended]) -> None:
    from oncekit.cli.paper import Paper

    marks = [mark_of(each.outcome) for each in ended]
    rows = [(mark, each.outcome, _result(each)) for mark, each in zip(marks, ended, strict=True)]
    Paper(error=False).table(
        ("", "outcome", "result"), rows, [COLOURS[mark] for mark in marks], [each.message or "" for each in ended]
    )


def _result(ended: ends.Ended) -> str:
    if ended.result_ref is None:
        return ended.result or ""
    return "in S3: " + json.dumps(ended.result_ref)
