"""`once logs`: what business logic printed and logged for an id; log_lines.py finds it."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated, Any

import typer

from oncekit.cli.deployed import log_lines, records
from oncekit.cli.deployed.on_stack import answered, on_stack
from oncekit.cli.deployed.place import Place
from oncekit.cli.deployed.stack import NEEDED, Stack
from oncekit.cli.options import Id, Json, Profile, Region, StackName
from oncekit.cli.output import Repeats, lines_of
from oncekit.cli.problem import Problem

_REQUEST_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

Hours = Annotated[int, typer.Option("--hours", metavar="N", min=1, help="Look N hours back.")]


def logs(
    id: Id,
    hours: Hours = 24,
    as_json: Json = False,
    stack: StackName = "once",
    profile: Profile = None,
    region: Region = None,
) -> None:
    """Show what business logic printed and logged for an id. Attempt by attempt, the oldest first.

    JSON: {id, logGroup, attempts: [{attempt, requestId, stream, lines: [{at, text}], isComplete}]}; at in epoch ms.
    """
    raise typer.Exit(_logs(Place(stack, profile, region), id, hours, as_json))


def _logs(place: Place, id: str, hours: int, as_json: bool) -> int:
    def work(stack: Stack) -> int:
        group = log_lines.log_group(stack, id)
        died = _request_that_died(stack, id)
        found = log_lines.attempts(stack, group, id, stack.now() - hours * 3600, died)
        if not found:
            records.find(stack, id)  # one that nobody knows is a typing error
        lines = list(_lines(found)) or [f"Nothing was logged for it in the last {hours} hours in {group}."]
        return answered(_answer(id, group, found), as_json, *lines)

    return on_stack(place, id, work, needed=(*NEEDED, "FunctionPrefix"))


def _request_that_died(stack: Stack, id: str) -> str:
    """The request id in the error of the record: Lambda puts it there when a function ends without an answer."""
    try:
        error = records.find(stack, id).get("error", {})
    except Problem:  # nobody knows the id, or its record is damaged: the log may tell of it all the same
        return ""
    found = _REQUEST_ID.search(str(error.get("message", "")))
    return found.group() if found else ""


def _answer(id: str, group: str, found: list[log_lines.Attempt]) -> dict[str, Any]:
    told = [
        {
            "attempt": each.number,
            "requestId": each.request_id,
            "stream": each.stream,
            "lines": [asdict(line) for line in each.lines],
            "isComplete": each.is_complete,
        }
        for each in found
    ]
    return {"id": id, "logGroup": group, "attempts": told}


def _lines(found: list[log_lines.Attempt]) -> Iterator[str]:
    for attempt in found:
        yield f"attempt {attempt.number or '?'}  {_time(attempt.first, 'seconds')}  {attempt.stream}"
        repeats = Repeats()
        for line in attempt.lines:
            if (text := repeats.left_of(line.text)) is not None:
                yield from lines_of(_time(line.at, "milliseconds")[11:], text)
        if not attempt.is_complete:
            yield f"… and more than these {log_lines.MOST_LINES:,} lines: they are in the stream {attempt.stream}"


def _time(milliseconds: int, precision: str) -> str:
    at = datetime.datetime.fromtimestamp(milliseconds / 1000, datetime.UTC)
    return at.isoformat(timespec=precision).replace("+00:00", "Z")
