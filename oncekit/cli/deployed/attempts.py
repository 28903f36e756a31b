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
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from shlex import quote
from typing import Any

from oncekit.cli.deployed.records import Record
from oncekit.cli.deployed.stack import Stack
from oncekit.console.run import Run
from oncekit.operation_functions import OperationFunctions
from oncekit.problem import Problem

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

Event = Mapping[str, Any]
"""A line as CloudWatch Logs gives it: its message, and the epoch milliseconds when it was printed."""


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


def attempts(stack: Stack, group: str, record: Record, run: Run | None) -> list[dict[str, Any]]:
    """The attempts of an operation that left a trace, the oldest first: {attempt, requestId, stream,
    lines: [{at, text}], isComplete}. `attempt` is None where no line of the library told the number.
    """
    log = _Log(stack.client("logs"), group, max(0, begin_of(record, run) - DAY_MS))
    try:
        numbers = log.told_by_the_library(record["id"])
        for each in _request_ids(record, run):
            numbers.setdefault(each, None)
        found = [(log.beginning_of(each), each) for each in [*numbers][-MOST_ATTEMPTS:]]
        begun = sorted((event["timestamp"], event["logStreamName"], each) for event, each in found if event)
        return [log.attempt(numbers[request], request, stream, first) for first, stream, request in begun]
    except log.client.exceptions.ResourceNotFoundException:  # nothing was ever logged
        return []


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


def _request_ids(record: Record, run: Run | None) -> Iterator[str]:
    """Those of invocations that are in the record's error, or in the history of the last owner."""
    texts = [str(record.get("error", {}).get("message", ""))]
    texts += [_about_an_invocation(event.details) for event in run.events] if run else []
    return (found.group() for text in texts if (found := REQUEST_ID.search(text)))


def _about_an_invocation(details: Mapping[str, Any]) -> str:
    """What Lambda said of an invocation that ended, as Step Functions keeps it."""
    if details.get("resourceType") == "lambda" and "output" in details:
        return json.dumps(_members(details["output"]).get("SdkResponseMetadata"))
    return str(details.get("cause") or "")


class _Log:
    """A log group, since a time in epoch ms."""

    def __init__(self, client: Any, group: str, since: int) -> None:
        self.client = client
        self._group, self._since = group, since

    def told_by_the_library(self, id: str) -> dict[str, int | None]:
        """The number of each attempt, by its request id."""
        # What a pattern might read in another way is left to the comparison: the part before it is asked for.
        plain = re.split(r'["\\*%]|[^ -~]', id)[0]
        searched = self._searched(f'{{ $.id = "{plain}{"*" if plain != id else ""}" }}')
        lines = (_members(event["message"]) for event in searched)
        named = (each for each in lines if each.get("id") == id and "function_request_id" in each)
        return {str(each["function_request_id"]): each.get("attempt") for each in named}

    def beginning_of(self, request: str) -> Event | None:
        """The first line that names a request."""
        return next((each for each in self._searched(f'"{request}"') if request in each["message"]), None)

    def attempt(self, number: int | None, request: str, stream: str, first: int) -> dict[str, Any]:
        """The invocation that a request made; its stream names it first at this time."""
        lines = list(islice(_lines(self._events(stream, first), request), MOST_LINES + 1))
        return {
            "attempt": number,
            "requestId": request,
            "stream": stream,
            "lines": lines[:MOST_LINES],
            "isComplete": len(lines) <= MOST_LINES,
        }

    def _searched(self, pattern: str) -> Iterator[Event]:
        asked = {"logGroupName": self._group, "filterPattern": pattern, "startTime": self._since}
        pages = self.client.get_paginator("filter_log_events")
        for page in pages.paginate(**asked, PaginationConfig={"MaxItems": MOST_EVENTS}):
            yield from page["events"]

    def _events(self, stream: str, first: int) -> Iterator[Event]:
        """Page by page; a page may be empty, and only a token that comes back says that it was the last one."""
        asked = {"logGroupName": self._group, "logStreamName": stream, "startFromHead": True}
        asked |= {"startTime": first, "endTime": first + LONGEST_MS + CLOCKS_MS}
        while True:
            page = self.client.get_log_events(**asked)
            yield from page["events"]
            if page["nextForwardToken"] == asked.get("nextToken"):
                return
            asked["nextToken"] = page["nextForwardToken"]


def _lines(events: Iterable[Event], request: str) -> Iterator[dict[str, Any]]:
    """Those of an invocation, {at, text}: from the first one that names it, to the next invocation.

    Behind its end Lambda itself may still tell of it, as of its timeout.
    """
    has_begun = has_ended = False
    for event in events:
        text = event["message"]
        is_named = request in text
        if has_begun and not is_named and any(each in text[:200] for each in STARTS):
            return
        if not is_named and (has_ended or not has_begun):
            continue
        has_begun, has_ended = True, has_ended or text.startswith(END)
        told = _members(text)
        is_metrics = "_aws" in told and "disposition" not in told
        if not is_metrics and not text.startswith(OF_LAMBDA):
            yield {"at": event["timestamp"], "text": text.rstrip("\n")}


def _members(line: str) -> dict[str, Any]:
    try:
        told = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return told if isinstance(told, dict) else {}
