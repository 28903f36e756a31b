"""`once logs`: what business logic printed and logged for an id; log_lines.py finds it."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from shlex import quote
from typing import Annotated, Any

import typer

from oncekit.cli.deployed import crashed_attempts, log_lines, records
from oncekit.cli.deployed.on_stack import answered, on_stack
from oncekit.cli.deployed.place import Place
from oncekit.cli.deployed.stack import NEEDED, Stack
from oncekit.cli.options import Id, Json, Profile, Region, StackName
from oncekit.cli.output import Repeats, lines_of
from oncekit.cli.problem import Problem
from oncekit.cli.terminal import Entry

ENDED = ("COMPLETED", "FAILED")
"""Of a record that no attempt is made for any more."""

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

    The log of an attempt that crashed, or whose function does not use the library, does not have the id. It is found by
    the request id of the invocation, which is in the record's error or in the history of an owner in the full lane. If
    neither has it, all attempts that crashed at that time are shown, and marked as uncertain; and the command says how
    many attempts it did not find, and how to see everything that the function logged at that time.

    JSON: {id, logGroup, attempts: [{attempt, requestId, stream, lines: [{at, text}], isComplete, isCertain}],
    notFound}; at in epoch ms.
    """
    raise typer.Exit(_logs(Place(stack, profile, region), id, hours, as_json))


def _logs(place: Place, id: str, hours: int, as_json: bool) -> int:
    def work(stack: Stack) -> int:
        group = log_lines.log_group(stack, id)
        record = _record(stack, id)
        found = attempts_of(stack, group, id, int((stack.now() - hours * 3600) * 1000), record)
        if not found:
            records.find(stack, id)  # one that nobody knows is a typing error
        lines = list(lines_for_people(found)) or [Entry("", _none(id, hours, group))]
        lines += not_found(found, record, group)
        return answered({**_answer(id, group, found), "notFound": missing_of(found, record)}, as_json, *lines)

    return on_stack(place, id, work, needed=NEEDED)


def _record(stack: Stack, id: str) -> records.Record | None:
    """None where nobody knows the id, or its record is damaged: the log may have lines of it all the same."""
    try:
        return records.find(stack, id)
    except Problem:
        return None


def attempts_of(
    stack: Stack, group: str, id: str, since: int, record: records.Record | None
) -> Sequence[log_lines.Attempt]:
    """The attempts since then, in epoch ms; where some are missing, those without a line of the library, too."""
    died = [each for each in [crashed_attempts.of_the_record(record)] if each] if record else []
    found = log_lines.attempts(stack, group, id, since, died)
    if record is None or len(found) >= record["attempts"]:
        return found
    if told := crashed_attempts.of_histories(stack, record):
        found = log_lines.attempts(stack, group, id, since, {*died, *told})
    if len(found) >= record["attempts"]:
        return found
    client, known = stack.client("logs"), {each.request_id for each in found}
    last = found[-1].last if found and record["status"] in ENDED else int(stack.now() * 1000)
    try:
        crashed = crashed_attempts.guesses(client, group, record, found[0].first if found else None, last)
        guessed = log_lines.guessed(stack, group, id, since, [each for each in crashed if each not in known])
    except client.exceptions.ResourceNotFoundException:  # nothing was ever logged
        return found
    return sorted([*found, *guessed], key=lambda each: each.first)


def missing_of(found: Sequence[log_lines.Attempt], record: records.Record | None) -> int:
    """How many attempts that a record counts are not among those that were surely found."""
    return max(0, int(record["attempts"]) - sum(each.is_certain for each in found)) if record else 0


def _none(id: str, hours: int, group: str) -> str:
    return f"No line in {group} of the last {'hour' if hours == 1 else f'{hours} hours'} has the id {id}."


def not_found(found: Sequence[log_lines.Attempt], record: records.Record | None, group: str) -> Iterator[str | Entry]:
    """Which attempts of a record were not surely found, why, and how to see what was logged at that time."""
    if not record or not (missing := missing_of(found, record)):
        return
    of = "Its only attempt" if record["attempts"] == 1 else f"{missing} of its {record['attempts']} attempts"
    certain = "" if all(each.is_certain for each in found) else " for certain"
    yield Entry(
        "",
        f"{of} {'was' if missing == 1 else 'were'} not found{certain}: an attempt that crashed, or whose function "
        "does not use the library, logs no id. This shows everything that was logged at that time:",
    )
    begin = crashed_attempts.begin_of(record, found[0].first if found else None)
    end = crashed_attempts.end_of(record)
    until = "" if end is None else f" --end-time {end + log_lines.AFTER_MS}"
    yield f"aws logs filter-log-events --log-group-name {quote(group)} --start-time {begin}{until}"


def _answer(id: str, group: str, found: Sequence[log_lines.Attempt]) -> dict[str, Any]:
    told = [
        {
            "attempt": each.number,
            "requestId": each.request_id,
            "stream": each.stream,
            "lines": [asdict(line) for line in each.lines],
            "isComplete": each.is_complete,
            "isCertain": each.is_certain,
        }
        for each in found
    ]
    return {"id": id, "logGroup": group, "attempts": told}


def lines_for_people(found: Sequence[log_lines.Attempt]) -> Iterator[str | Entry]:
    """Of each attempt when it began and in which stream it is, then its lines with their times."""
    for attempt in found:
        request = "" if attempt.number else f"request {attempt.request_id}  "
        perhaps = "" if attempt.is_certain else "  (it crashed at that time, and may be another id's)"
        text = f"{request}{_time(attempt.first, 'seconds')}  {attempt.stream}{perhaps}"
        yield Entry(f"attempt {attempt.number or '?'}  ", text)
        yield from list(_printed(attempt)) or ["it printed nothing"]
        if not attempt.is_complete:
            more = f"… and more than these {log_lines.MOST_LINES:,} lines: they are in the stream {attempt.stream}"
            yield Entry("", more)


def _printed(attempt: log_lines.Attempt) -> Iterator[str]:
    repeats = Repeats()
    for line in attempt.lines:
        if (text := repeats.left_of(line.text)) is not None:
            yield from lines_of(_time(line.at, "milliseconds")[11:], text)


def _time(milliseconds: int, precision: str) -> str:
    at = datetime.datetime.fromtimestamp(milliseconds / 1000, datetime.UTC)
    return at.isoformat(timespec=precision).replace("+00:00", "Z")
