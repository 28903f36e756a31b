"""`once send`: a request to a deployed stack; ways.py knows the ways."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from shlex import quote
from typing import Annotated, Any

import typer

from oncekit.cli.deployed.on_stack import answered, on_stack
from oncekit.cli.options import Json, LaneOption, Profile, Region, StackName, lane_to_start
from oncekit.cli.outcomes import (
    AT_WORK,
    COLOURS,
    HANDED_OVER,
    IN_PROGRESS,
    PENDING,
    RUNNING,
    exit_code,
    mark_of,
    message_in,
)
from oncekit.cli.terminal import say
from oncekit.cli.user_files import no_request, read_event, where
from oncekit.contract.lanes import FAST, MACHINES, Lane
from oncekit.contract.quotas import EXPRESS_SECONDS
from oncekit.contract.requests import id_in, names_nothing
from oncekit.problem import Problem
from oncekit.stack import ways
from oncekit.stack.aws_errors import is_denied
from oncekit.stack.records import Missing, find, is_pending
from oncekit.stack.session import Place
from oncekit.stack.stack import Stack

FIRST_LOOK, LAST_LOOK = 0.2, 5.0
"""Seconds between looks: DescribeExecution is limited to some ten a second, for everybody in the account."""
AT_ONCE = 16
"""Starts that wait for their answers at the same time."""
TO_ANSWER = 30
"""Seconds more than AWS lets an Express execution live."""

Event = Annotated[str, typer.Argument(metavar="EVENT", help="A request file (JSON); - reads standard input.")]
Via = Annotated[ways.Way, typer.Option("--via", metavar="WAY", help="eventbridge, sqs, or direct: a start.")]
Duplicates = Annotated[int, typer.Option("--duplicates", metavar="N", min=0, max=1000, help="Send it N more times.")]
Wait = Annotated[bool, typer.Option("--wait", help="Wait for the end of each execution, and show its result.")]
Timeout = Annotated[
    int, typer.Option("--timeout", metavar="SECONDS", min=1, help="With --wait: how long to wait for each at most.")
]


@dataclass(frozen=True)
class Ended:
    """An outcome: a disposition, an error, or RUNNING; `result` is JSON text, `message` why there is none yet."""

    of: str | None
    outcome: str
    result: str | None = None
    result_ref: dict[str, Any] | None = None
    message: str | None = None

    def as_json(self) -> dict[str, Any]:
        told = asdict(self) | {"result": json.loads(self.result) if self.result is not None else None}
        return {"resultRef" if name == "result_ref" else name: value for name, value in told.items()}


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

    The direct lane is not reached so: the event of a function that takes the lock itself goes where its trigger takes
    it from. A request with the same key is the same operation, though: a machine answers it, or runs it.

    --lane is for executions that are started directly. Without it, they start in the lane that the stack's parameter
    Lane names, like events and messages.

    With --wait, for direct starts, it also prints how each execution ended. In the fast lane, whose executions cannot
    be looked up later, it starts them synchronously (StartSyncExecution) and waits for 5 minutes at most. A request
    that the fast lane hands over to the full lane is IN_PROGRESS then: `--lane full` waits for its result. Of what is
    IN_PROGRESS it says who goes on: the full lane, somebody else's execution, or work elsewhere. The exit code is that
    of `once run`: 1 if a request failed, else 3 if one is in conflict or in progress. IN_PROGRESS does not count once
    the result under that id is known.

    JSON: {id, via, to, sent: [...], ended: [{of, outcome, result, resultRef, message}]}, `ended` only with --wait.
    """
    if lane and via != ways.DIRECT:
        raise Problem(f"--lane: the stack's parameter Lane says where --via {via} starts; leave out one of the two")
    if wait and via != ways.DIRECT:
        raise Problem(f"--wait: it is for direct starts; leave out --via {via}, or ask `once show ID` later")
    request = read_event(event)
    if names_nothing(request):
        raise Problem(no_request(where(event)))
    with on_stack(Place(stack, profile, region), where(event)) as there:
        start_in = lane_to_start(lane, there.parameters)
        if wait:
            return _wait(there, request, start_in, 1 + duplicates, timeout, as_json)
        done = _about(request, ways.send(there, request, via, 1 + duplicates, start_in), as_json)
        return answered(done, as_json)


def _wait(stack: Stack, request: str, lane: Lane, times: int, seconds: int, as_json: bool) -> int:
    if lane == FAST:
        ended = synchronous(stack, request, times, seconds)
        sent = [each.of for each in ended if each.of]
        done = _about(request, {"via": ways.DIRECT, "to": stack.outputs[MACHINES[FAST]], "sent": sent}, as_json)
    else:
        done = _about(request, ways.send(stack, request, ways.DIRECT, times), as_json)
        ended = [_execution_end(stack, arn, seconds) for arn in done["sent"]]
    if any(each.outcome == IN_PROGRESS for each in ended):
        why = _why_in_progress(stack, str(done["id"]))
        ended = [replace(each, message=why) if each.outcome == IN_PROGRESS else each for each in ended]
    if not as_json:
        _print(ended)
    answered({**done, "ended": [each.as_json() for each in ended]}, as_json)
    return exit_code((str(done["id"]), each.outcome) for each in ended)


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


def _print(ended: Sequence[Ended]) -> None:
    from oncekit.cli.paper import Paper

    marks = [mark_of(each.outcome) for each in ended]
    rows = [(mark, each.outcome, _result(each)) for mark, each in zip(marks, ended, strict=True)]
    Paper(error=False).table(
        ("", "outcome", "result"), rows, [COLOURS[mark] for mark in marks], [each.message or "" for each in ended]
    )


def _result(ended: Ended) -> str:
    if ended.result_ref is None:
        return ended.result or ""
    return "in S3: " + json.dumps(ended.result_ref)


# ---- how executions ended ----


def _why_in_progress(stack: Stack, id: str) -> str | None:
    """In a few words, by the record as it is now; None where it may not be read."""
    from botocore.exceptions import ClientError

    try:
        record = find(stack, id)
    except Missing:
        return HANDED_OVER
    except ClientError as error:
        if not is_denied(error.response["Error"]["Code"]):
            raise
        return None
    if is_pending(record):
        return PENDING
    if record["status"] != "IN_PROGRESS":
        return f"meanwhile it is {record['status']}"
    return HANDED_OVER if record["leaseExpiresAt"] == 0 else AT_WORK


def _execution_end(stack: Stack, arn: str, seconds: float) -> Ended:
    """How an execution of the operation machine ended, or that it has no end after these seconds."""
    from botocore.exceptions import ClientError

    client = stack.client("stepfunctions")
    waited, pause = 0.0, FIRST_LOOK
    while True:
        try:
            described = client.describe_execution(executionArn=arn)
            if described["status"] != "RUNNING":
                return _ended(described)
        except ClientError as refused:  # AWS may describe what was started just now a little later
            if refused.response["Error"]["Code"] != "ExecutionDoesNotExist":
                raise
        if waited >= seconds:
            return Ended(arn, RUNNING, message=f"still without an end after {seconds:g} s; it goes on by itself")
        time.sleep(pause)
        waited, pause = waited + pause, min(pause * 1.5, LAST_LOOK)


def _ended(described: Mapping[str, Any]) -> Ended:
    """The end that DescribeExecution or StartSyncExecution tells."""
    arn, status = described["executionArn"], described["status"]
    if status != "SUCCEEDED":
        return Ended(arn, described.get("error") or status, message=message_in(described.get("cause")))
    output = json.loads(described["output"])
    return Ended(arn, output["disposition"], output.get("result"), output.get("resultRef"))


def synchronous(stack: Stack, request: str, times: int, seconds: float) -> list[Ended]:
    """How each execution of the fast lane ended, or that there was no answer after these seconds.

    Of the machine, not of its alias: that StartSyncExecution takes an alias, AWS's reference does not say.
    """
    machine = stack.outputs[MACHINES[FAST]]
    client = _client(stack, seconds)

    def start(_: int) -> Ended:
        from botocore.exceptions import ReadTimeoutError

        try:
            return _ended(client.start_sync_execution(stateMachineArn=machine, input=request))
        except ReadTimeoutError:
            told = f"no answer after {seconds:g} s; it may still be at work: `once show ID` tells"
            return Ended(None, RUNNING, message=told)

    with ThreadPoolExecutor(min(times, AT_ONCE)) as pool:
        return list(pool.map(start, range(times)))


def _client(stack: Stack, seconds: float) -> Any:
    """One that waits that long, and never sends a start twice: each would be an execution of its own."""
    from botocore.config import Config

    way = Config(
        read_timeout=min(seconds, EXPRESS_SECONDS + TO_ANSWER),
        retries={"total_max_attempts": 1},
        inject_host_prefix=not stack.is_local,  # there is no host of the name sync-...
        max_pool_connections=AT_ONCE,
    )
    return stack.session.client("stepfunctions", endpoint_url=stack.endpoint_url, config=way)
