"""What the function of an operation logged for one id, out of CloudWatch Logs.

The library writes one line at the end of an attempt, with the id and how long it took; each line of Powertools'
`Logger` has the id, too. A line that says no id, such as a print or a traceback, is taken from the same stream: one
stream is one environment, which has one attempt at a time, and Lambda's START and END are around its lines. An attempt
that died wrote no line of the library: crashed_attempts.py finds its request id, which Lambda's own lines have.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from oncekit.cli.deployed.stack import Stack
from oncekit.cli.problem import Problem
from oncekit.operation_functions import OperationFunctions

NAME = re.compile(r"[a-z][a-z0-9-]{0,39}")
MOST_EVENTS = 2000
"""Lines with the id that are looked at, the oldest first."""
MOST_LINES = 1000
"""Of one attempt."""
AFTER_MS = 1000
"""How long after its last line with the id an attempt may print, as the traceback of what it raised."""
BEFORE_MS = 50
"""How much earlier than the library's line says an attempt may have begun: its clock is not the log's."""
START, END = "START RequestId:", "END RequestId:"
OF_LAMBDA = ("INIT_START", "INIT_REPORT", START, END, "REPORT RequestId:")
LONGEST_MS = 900_000
"""Lambda's own limit: a function that hangs says nothing more, and Lambda's line comes when its time is over."""


@dataclass(frozen=True)
class Line:
    """Epoch milliseconds, and what was printed."""

    at: int
    text: str


@dataclass
class Attempt:
    """The lines of one start of the function."""

    number: Any
    request_id: str
    stream: str
    first: int
    last: int
    lines: tuple[Line, ...] = ()
    is_complete: bool = True
    """Whether these are all its lines."""
    is_certain: bool = True
    """Whether it surely is one of the id; one that crashed at the right time may be another's."""


def log_group(stack: Stack, id: str) -> str:
    """The log group of the function that an id's operation has. Raises Problem when there is no such function."""
    operation = id.partition("#")[2].partition("#")[0]
    if id.count("#") < 2 or not NAME.fullmatch(operation):
        raise Problem(f"{id}: an id is tenant#operation#idempotencyKey, in quotes for the shell")
    found = OperationFunctions.of(stack.parameters, stack.outputs).function_of(operation)
    if found is None:
        raise Problem(f"{id}: the operation {operation} has no function: the parameter Operations does not name it")
    client = stack.client("lambda")
    try:
        told = client.get_function_configuration(FunctionName=found.name)
    except client.exceptions.ResourceNotFoundException as error:
        raise Problem(f"{id}: the operation {operation} has no function {found.name}") from error
    return str(told.get("LoggingConfig", {}).get("LogGroup", f"/aws/lambda/{found.name}"))


def attempts(stack: Stack, group: str, id: str, since: int, died: Iterable[str] = ()) -> list[Attempt]:
    """The attempts of an id, oldest first.

    Lines are searched from `since` on, in epoch ms. `died` has the request ids of attempts that are known to have ended
    without a line of the library.
    """
    client = stack.client("logs")
    found: dict[tuple[str, str], Attempt] = {}
    try:
        for event in _with_id(client, group, id, since):
            told = _fields(event["message"])
            stream, request_id, at = event["logStreamName"], str(told["function_request_id"]), event["timestamp"]
            new = Attempt(told.get("attempt"), request_id, stream, at, at)
            known = found.setdefault((stream, request_id), new)
            known.first = min(known.first, at - _took(told))
            known.last = max(known.last, at)
        for each in set(died) - {request_id for _, request_id in found}:
            found.update(_of_request(client, group, each, since))
    except client.exceptions.ResourceNotFoundException:  # nothing was ever logged
        return []
    return _with_lines(client, group, found.values(), id)


def guessed(stack: Stack, group: str, id: str, since: int, request_ids: Iterable[str]) -> list[Attempt]:
    """Attempts by their request ids that may have been at an id, oldest first."""
    client = stack.client("logs")
    try:
        found = [each for one in request_ids for each in _of_request(client, group, one, since).values()]
    except client.exceptions.ResourceNotFoundException:  # nothing was ever logged
        return []
    for each in found:
        each.is_certain = False
    return _with_lines(client, group, found, id)


def _with_lines(client: Any, group: str, found: Iterable[Attempt], id: str) -> list[Attempt]:
    for attempt in found:
        lines = _lines(client, group, attempt, id)
        attempt.lines, attempt.is_complete = tuple(lines[:MOST_LINES]), len(lines) <= MOST_LINES
    return sorted(found, key=lambda each: each.first)


def _with_id(client: Any, group: str, id: str, since: int) -> Iterator[dict[str, Any]]:
    # What a pattern might read in another way is left to the comparison: the part before it is asked for.
    plain = re.split(r'["\\*%]|[^ -~]', id)[0]
    pattern = f'{{ $.id = "{plain}{"*" if plain != id else ""}" }}'
    for event in _searched(client, group, pattern, since):
        told = _fields(event["message"])
        if told.get("id") == id and "function_request_id" in told:
            yield event


def _searched(client: Any, group: str, pattern: str, since: int) -> Iterator[dict[str, Any]]:
    pages = client.get_paginator("filter_log_events").paginate(
        logGroupName=group,
        filterPattern=pattern,
        startTime=max(since, 0),
        PaginationConfig={"MaxItems": MOST_EVENTS},
    )
    for page in pages:
        yield from page["events"]


def _took(told: dict[str, Any]) -> int:
    """The milliseconds before the library's line in which its attempt ran; 0 for any other line."""
    duration = told.get("Duration") if "_aws" in told else None
    return int(duration) + BEFORE_MS if isinstance(duration, int | float) else 0


def _of_request(client: Any, group: str, request_id: str, since: int) -> dict[tuple[str, str], Attempt]:
    """The attempt that lines with a request id belong to: Lambda's own, if no others."""
    found = _searched(client, group, f'"{request_id}"', since)
    events = [event for event in found if request_id in event["message"]]
    if not events:
        return {}
    stream, times = events[0]["logStreamName"], [event["timestamp"] for event in events]
    return {(stream, request_id): Attempt(None, request_id, stream, min(times), max(times))}


def _lines(client: Any, group: str, attempt: Attempt, id: str) -> list[Line]:
    """MOST_LINES of an attempt, and one more when there are more."""
    lines: list[Line] = []
    wanted = (attempt.request_id, id)
    has_begun = has_ended = False
    for event in _events(client, group, attempt):
        at, text = event["timestamp"], event["message"]
        is_named = attempt.request_id in text
        if text.startswith(START) and is_named:
            lines.clear()  # what was printed before it, by the attempt before
            has_begun = True
        elif text.startswith(START) and (has_begun or at > attempt.last):  # the next attempt
            break
        has_ended = has_ended or (text.startswith(END) and is_named)
        if has_ended and not is_named:  # Lambda itself may tell of an attempt behind its end
            continue
        told = _fields(text)
        is_own = "function_request_id" not in told or (told["function_request_id"], told.get("id", id)) == wanted
        if len(lines) > MOST_LINES or (not is_own and at > attempt.last):  # the next attempt of somebody else
            break
        if at > attempt.last + AFTER_MS and not is_named:
            continue
        is_metrics = "_aws" in told and "disposition" not in told
        if is_own and not is_metrics and not text.startswith(OF_LAMBDA):
            lines.append(Line(at, text.rstrip("\n")))
    return lines


def _events(client: Any, group: str, attempt: Attempt) -> Iterator[dict[str, Any]]:
    """Page by page; a page may be empty, and only a token that comes back says that it was the last one."""
    asked = {
        "logGroupName": group,
        "logStreamName": attempt.stream,
        "startTime": attempt.first,
        "endTime": attempt.last + LONGEST_MS,
        "startFromHead": True,
    }
    while True:
        page = client.get_log_events(**asked)
        yield from page["events"]
        if page["nextForwardToken"] == asked.get("nextToken"):
            return
        asked["nextToken"] = page["nextForwardToken"]


def _fields(line: str) -> dict[str, Any]:
    try:
        told = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return told if isinstance(told, dict) else {}
