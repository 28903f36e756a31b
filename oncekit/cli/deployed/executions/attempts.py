"""What the function of an operation printed and logged for an id, attempt by attempt, out of CloudWatch Logs.

An attempt is found by the request id of its invocation, and by nothing else. The library writes it next to the id at
the end of each attempt, and Powertools' `Logger` in each line. Of an attempt that crashed it is in the error; of a
function that does not use the library it is in Lambda's answer (V85): both are in the history of an execution in the
full lane, and the last error is in the record. An environment has one invocation at a time, so what its stream has from
START on is of that attempt.
What left no request id anywhere is not guessed at: a command shows everything that was logged at that time.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from shlex import quote
from typing import Any

from oncekit.cli.deployed.records.record import Record
from oncekit.cli.deployed.stack import Stack
from oncekit.cli.problem import Problem
from oncekit.console.run import Run
from oncekit.operation_functions import OperationFunctions

REQUEST_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
MOST_EVENTS = 2000
"""Lines with the id that are looked at, the oldest first."""
MOST_ATTEMPTS = 50
MOST_LINES = 1000
"""Of one attempt."""
STARTS, END = ("START RequestId:", '"type":"platform.start"'), "END RequestId:"
"""Of an invocation, in text and in JSON."""
OF_LAMBDA = ("INIT_START", "INIT_REPORT", STARTS[0], END, "REPORT RequestId:")
LONGEST_MS = 900_000
"""Lambda's own limit: a function that hangs says nothing more, and Lambda's line comes when its time is over."""
CLOCKS_MS = 1000
"""By which clocks may differ."""
EARLIER_MS = 3600_000
"""How long before its last lock an operation may have been at work under an earlier fence."""
DAY_MS = 86_400_000


@dataclass(frozen=True)
class Line:
    """Epoch milliseconds, and what was printed."""

    at: int
    text: str


@dataclass(frozen=True)
class Attempt:
    """The lines of one start of the function; without a number where no line of the library told it."""

    number: int | None
    request_id: str
    stream: str
    first: int
    """Epoch milliseconds of its first line."""
    lines: Sequence[Line]
    is_complete: bool
    """Whether these are all its lines."""

    def as_json(self) -> dict[str, Any]:
        return {
            "attempt": self.number,
            "requestId": self.request_id,
            "stream": self.stream,
            "lines": [asdict(line) for line in self.lines],
            "isComplete": self.is_complete,
        }


def log_group(stack: Stack, id: str) -> str:
    """The log group of the function that an id's operation has. Raises Problem when there is no such function."""
    operation = id.split("#")[1]
    found = OperationFunctions.of(stack.outputs).function_of(operation)
    if found is None:
        raise Problem(f"the operation {operation} has no function: the parameter Operations does not name it")
    client = stack.client("lambda")
    try:
        told = client.get_function_configuration(FunctionName=found.name)
    except client.exceptions.ResourceNotFoundException as error:
        raise Problem(f"the operation {operation} has no function {found.name}") from error
    return str(told.get("LoggingConfig", {}).get("LogGroup", f"/aws/lambda/{found.name}"))


def attempts(stack: Stack, group: str, record: Record, run: Run | None) -> list[Attempt]:
    """The attempts of an operation that left a trace, the oldest first."""
    client, since = stack.client("logs"), max(0, begin_of(record, run) - DAY_MS)
    try:
        numbers = _told_by_the_library(client, group, record["id"], since)
        for each in _request_ids(record, run):
            numbers.setdefault(each, None)
        found = [_attempt(client, group, request, numbers[request], since) for request in [*numbers][-MOST_ATTEMPTS:]]
    except client.exceptions.ResourceNotFoundException:  # nothing was ever logged
        return []
    return sorted((each for each in found if each), key=lambda each: each.first)


def everything_at_that_time(group: str, record: Record, run: Run | None) -> str:
    """The command that shows all that the function logged while the operation was at work."""
    end = _ms(record.get("finishedAt"))
    until = "" if end is None else f" --end-time {end + CLOCKS_MS}"
    begin = begin_of(record, run)
    return f"aws logs filter-log-events --log-group-name {quote(group)} --start-time {begin}{until}"


def begin_of(record: Record, run: Run | None) -> int:
    """In epoch ms, since when an operation may have been at work."""
    times = [_ms(record["acquiredAt"]), _ms(run and run.started_at)]
    begin = min((each for each in times if each is not None), default=0)
    return max(0, begin - (EARLIER_MS if record["fence"] > 1 else CLOCKS_MS))


def _ms(told: object) -> int | None:
    try:
        at = told if isinstance(told, datetime.datetime) else datetime.datetime.fromisoformat(str(told))
    except ValueError:  # a function may have written any text
        return None
    return int((at if at.tzinfo else at.replace(tzinfo=datetime.UTC)).timestamp() * 1000)


# ---- request ids ----


def _told_by_the_library(client: Any, group: str, id: str, since: int) -> dict[str, int | None]:
    """The number of each attempt, by its request id."""
    # What a pattern might read in another way is left to the comparison: the part before it is asked for.
    plain = re.split(r'["\\*%]|[^ -~]', id)[0]
    numbers: dict[str, int | None] = {}
    for event in _searched(client, group, f'{{ $.id = "{plain}{"*" if plain != id else ""}" }}', since):
        told = _members(event["message"])
        if told.get("id") == id and "function_request_id" in told:
            numbers[str(told["function_request_id"])] = told.get("attempt")
    return numbers


def _request_ids(record: Record, run: Run | None) -> Iterator[str]:
    """Those of invocations that are in the record's error, or in the history of the last owner."""
    texts = [str(record.get("error", {}).get("message", ""))]
    texts += [_about_an_invocation(event.details) for event in run.events] if run else []
    for text in texts:
        if found := REQUEST_ID.search(text):
            yield found.group()


def _about_an_invocation(details: Mapping[str, Any]) -> str:
    """What Lambda said of an invocation that ended, as Step Functions keeps it."""
    if details.get("resourceType") == "lambda" and "output" in details:
        told = _members(details["output"]).get("SdkResponseMetadata")
        return str(told.get("RequestId")) if isinstance(told, dict) else ""
    return str(details.get("cause") or "")


# ---- lines ----


def _attempt(client: Any, group: str, request_id: str, number: int | None, since: int) -> Attempt | None:
    """None where no line names the request."""
    event = next(
        (each for each in _searched(client, group, f'"{request_id}"', since) if request_id in each["message"]), None
    )
    if event is None:
        return None
    stream, first = event["logStreamName"], event["timestamp"]
    lines = list(_lines(_events(client, group, stream, first), request_id))
    return Attempt(number, request_id, stream, first, lines[:MOST_LINES], len(lines) <= MOST_LINES)


def _lines(events: Iterable[dict[str, Any]], request_id: str) -> Iterator[Line]:
    """Those of an invocation: from the first one that names it, to the next invocation; at most one more than is shown.

    Behind its end Lambda itself may still tell of it, as of its timeout.
    """
    has_begun = has_ended = False
    count = 0
    for event in events:
        text = event["message"]
        is_named = request_id in text
        if has_begun and not is_named and any(each in text[:200] for each in STARTS):
            return
        if not is_named and (has_ended or not has_begun):
            continue
        has_begun, has_ended = True, has_ended or text.startswith(END)
        told = _members(text)
        is_metrics = "_aws" in told and "disposition" not in told
        if not is_metrics and not text.startswith(OF_LAMBDA):
            yield Line(event["timestamp"], text.rstrip("\n"))
            count += 1
        if count > MOST_LINES:
            return


def _events(client: Any, group: str, stream: str, first: int) -> Iterator[dict[str, Any]]:
    """Page by page; a page may be empty, and only a token that comes back says that it was the last one."""
    asked = {"logGroupName": group, "logStreamName": stream, "startFromHead": True}
    asked |= {"startTime": first, "endTime": first + LONGEST_MS + CLOCKS_MS}
    while True:
        page = client.get_log_events(**asked)
        yield from page["events"]
        if page["nextForwardToken"] == asked.get("nextToken"):
            return
        asked["nextToken"] = page["nextForwardToken"]


def _searched(client: Any, group: str, pattern: str, since: int) -> Iterator[dict[str, Any]]:
    options = {"MaxItems": MOST_EVENTS}
    pages = client.get_paginator("filter_log_events")
    for page in pages.paginate(logGroupName=group, filterPattern=pattern, startTime=since, PaginationConfig=options):
        yield from page["events"]


def _members(line: str) -> dict[str, Any]:
    try:
        told = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return told if isinstance(told, dict) else {}
