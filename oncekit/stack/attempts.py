"""What the function of an operation printed and logged for an id, attempt by attempt, out of CloudWatch Logs.

An attempt is found by the request id of its invocation, and by nothing else. The library writes it next to the id at
the end of each attempt, and Powertools' `Logger` in each line. Of an attempt that crashed it is in the error; of a
function that does not use the library it is in Lambda's answer ("the request ID, which identifies the request that
triggered the function invocation", says the reference of the runtime API): both are in the history of an execution in
the full lane. The last error is in the record, too, and what the record had of it before is in the history of who read
it. An owner in the direct lane has it in its name, and the history of the execution that takes the lock over has that.
An environment has one invocation at a time, so what its stream has between the first line and the last one that name a
request is of that attempt, but for what names another id: in the direct lane an invocation may have many.
What left no request id anywhere is not guessed at: a command shows everything that was logged at that time.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Iterator, Mapping
from itertools import takewhile
from shlex import quote
from typing import Any

from oncekit.console.parts import errors_read, part_of
from oncekit.console.run import Run
from oncekit.console.starts import WORK
from oncekit.contract.lanes import Invoked
from oncekit.contract.operation_functions import OperationFunctions
from oncekit.stack.records import Record
from oncekit.stack.stack import Stack

REQUEST_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
ARN = re.compile(r"arn:\S+")
MOST_EVENTS = 2000
"""Lines of one search, the oldest first."""
MOST_ATTEMPTS = 50
OF_LAMBDA = re.compile("INIT_START|INIT_REPORT|(START|END|REPORT) RequestId:")
"""How lines of Lambda's begin; in JSON, they have a type of their own."""
START, END = "START RequestId:", "END RequestId:"
LONGEST_MS = 900_000
"""Lambda's own limit."""
CLOCKS_MS = 1000
"""By which clocks may differ."""
DAY_MS = 86_400_000
"""How long before its own try attempts of an earlier one are looked for."""

Event = Mapping[str, Any]
"""A line as CloudWatch Logs gives it: its message, its stream, and the epoch milliseconds when it was printed."""


def log_group(stack: Stack, id: str) -> str | None:
    """The log group of the function that an id's operation has; None when there is no such function."""
    found = OperationFunctions.of(stack.outputs).function_of(id.split("#")[1])
    if found is None:
        return None
    client = stack.client("lambda")
    try:
        told = client.get_function_configuration(FunctionName=found.name)
    except client.exceptions.ResourceNotFoundException:
        return None
    return str(told.get("LoggingConfig", {}).get("LogGroup", f"/aws/lambda/{found.name}"))


def attempts(stack: Stack, group: str, record: Record, run: Run | None) -> list[dict[str, Any]]:
    """The attempts of an operation that left a trace, the oldest first: {attempt, requestId, stream,
    lines: [{at, text}]}. `attempt` is None where no line of the library told the number.
    """
    log = _Log(stack.client("logs"), group, max(0, _begin_of(record) - DAY_MS))
    try:
        numbers = log.told_by_the_library(record["id"])
        for each in _request_ids(record, run):
            numbers.setdefault(each, None)
        named = {request: log.naming(request) for request in [*numbers][-MOST_ATTEMPTS:]}
        begun = sorted((each[0]["timestamp"], request) for request, each in named.items() if each)
        return [log.attempt(numbers[request], request, named[request], record["id"]) for _, request in begun]
    except log.client.exceptions.ResourceNotFoundException:  # nothing was ever logged
        return []


def is_to_begin(record: Record, run: Run | None) -> bool:
    """Whether its owner waits before the last attempt that the record counts, or ended in that wait."""
    states = [each.state for each in run.visits] if run and run.arn == record["owner"] else []
    return next((each == "BackOff" for each in reversed(states) if each in ("BackOff", WORK)), False)


def everything_at_that_time(group: str, record: Record) -> str:
    """The command that shows all that the function logged while the operation was at work."""
    end = _ms(record.get("finishedAt"))
    until = "" if end is None else f" --end-time {end + CLOCKS_MS}"
    return f"aws logs filter-log-events --log-group-name {quote(group)} --start-time {_begin_of(record)}{until}"


def _begin_of(record: Record) -> int:
    """In epoch ms, since when an operation may have been at work: all its attempts come after its try began."""
    return max(0, (_ms(record["acquiredAt"]) or 0) - CLOCKS_MS)


def _ms(told: object) -> int | None:
    try:
        return int(datetime.datetime.fromisoformat(str(told)).timestamp() * 1000)
    except ValueError:  # a function may have written any text
        return None


def _request_ids(record: Record, run: Run | None) -> Iterator[str]:
    """Those of invocations that are owners, in the record's error, as it is or was, or in the last owner's history."""
    owners = [part_of(run).taken_from if run else "", str(record["owner"])]
    yield from (invoked.request for invoked in map(Invoked.of, owners) if invoked)
    texts = [str(record.get("error", {}).get("message", ""))]
    texts += [str(each.get("message")) for each in errors_read(run)] if run else []
    texts += [_about_an_invocation(details) for details in run.details] if run else []
    # An execution's name has the form of a request id, and the errors of an owner that ended have its ARN.
    yield from (found.group() for text in texts if (found := REQUEST_ID.search(ARN.sub("", text))))


def _about_an_invocation(details: Mapping[str, Any]) -> str:
    """What Lambda said of an invocation that ended, as Step Functions keeps it."""
    if details.get("resourceType") == "lambda" and "output" in details:
        return json.dumps(_members(details["output"]).get("SdkResponseMetadata"))
    return str(details.get("cause") or "")


def lines_of(id: str) -> str:
    """The pattern for the lines of the library about an id, and perhaps some more, which are left to a comparison."""
    # What a pattern might read in another way is left to it, too: the part before it is asked for.
    plain = re.split(r'["\\*%]|[^ -~]', id)[0]
    return f'{{ $.id = "{plain}{"*" if plain != id else ""}" }}'


def lines_with(request: str) -> str:
    """The pattern for the lines that name a request."""
    return f'"{request}"'


class _Log:
    """A log group, since a time in epoch ms."""

    def __init__(self, client: Any, group: str, since: int) -> None:
        self.client = client
        self._group, self._since = group, since

    def told_by_the_library(self, id: str) -> dict[str, int | None]:
        """The number of each attempt, by its request id."""
        searched = self._search(filterPattern=lines_of(id))
        lines = (_members(event["message"]) for event in searched)
        named = (each for each in lines if each.get("id") == id and "function_request_id" in each)
        return {str(each["function_request_id"]): each.get("attempt") for each in named}

    def naming(self, request: str) -> list[Event]:
        """The lines that name a request."""
        return [each for each in self._search(filterPattern=lines_with(request)) if request in each["message"]]

    def attempt(self, number: int | None, request: str, named: list[Event], id: str) -> dict[str, Any]:
        """The invocation that a request made: what its stream has between the lines that name it."""
        stream, first = named[0]["logStreamName"], named[0]["timestamp"]
        last = max(each["timestamp"] for each in named)
        marks = {mark for each in named for mark in (START, END) if each["message"].startswith(mark)}
        if marks == {START}:  # it goes on
            last = first + LONGEST_MS
        events = self._search(logStreamNames=[stream], startTime=first, endTime=last)
        own = takewhile(lambda each: request in each["message"] or not each["message"].startswith(START), events)
        lines = [{"at": each["timestamp"], "text": each["message"].rstrip("\n")} for each in own if _is_said(each, id)]
        return {"attempt": number, "requestId": request, "stream": stream, "lines": lines}

    def _search(self, **asked: Any) -> Iterator[Event]:
        asked = {"logGroupName": self._group, "startTime": self._since, **asked}
        pages = self.client.get_paginator("filter_log_events")
        for page in pages.paginate(**asked, PaginationConfig={"MaxItems": MOST_EVENTS}):
            yield from page["events"]


def _is_said(event: Event, id: str) -> bool:
    """Whether a function said it, and not of another id: neither Lambda about an invocation, nor metrics."""
    told = _members(event["message"])
    is_metrics = "_aws" in told and "disposition" not in told
    is_of_lambda = OF_LAMBDA.match(event["message"]) or str(told.get("type")).startswith("platform.")
    is_of_another = "function_request_id" in told and told.get("id", id) != id  # a line of the library's logger
    return not is_metrics and not is_of_lambda and not is_of_another


def _members(line: str) -> dict[str, Any]:
    try:
        told = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return told if isinstance(told, dict) else {}
