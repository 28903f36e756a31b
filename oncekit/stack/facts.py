"""All that is known of one id: what `once show --json` prints, and `once show` tells people."""

from __future__ import annotations

import datetime
import json
from contextlib import suppress
from typing import Any

from oncekit.console.parts import Part, part_of
from oncekit.console.run import Run
from oncekit.console.story import Logged, story
from oncekit.console.words import iso
from oncekit.contract.lanes import FULL
from oncekit.contract.record_form import OPEN
from oncekit.contract.requests import id_in, opened
from oncekit.problem import Problem
from oncekit.stack import attempts, executions, kept, rejected
from oncekit.stack.aws_errors import is_denied
from oncekit.stack.records import Record, find, has_expired
from oncekit.stack.stack import Stack

KEYS = (
    *(
        "id",
        "summary",
        "timeline",
        "expired",
        "record",
        "lane",
        "ownerStatus",
        "steps",
        "request",
        "requestKept",
        "refused",
        "log",
        "console",
    ),
    *("execution", "logGroup", "attempts", "notFound", "notBegun", "logCommand"),
)


MOST_READ = 25
"""Refused requests, the newest of all: the key of one does not say whose it is, and each is read by a call."""


def inspect(stack: Stack, about: str) -> dict[str, Any]:
    """The object that --json prints. Without a record, as of a request that was refused, most of it is None.

    `requestKept` says where the request of an open record is and until when, or where it is not; `refused` is the last
    request with this id that was refused and is kept, if it is among the newest: {key, error, message, refusedAt}.
    `log` is how to read what an owner in the fast or the direct lane logged, `notFound` how many attempts are missing,
    one that goes on and has logged nothing yet among them, `notBegun` that the last one that the record counts is still
    to begin.
    """
    if not about.startswith("arn:"):
        record, run = find(stack, about), None
        with suppress(Problem):  # the path of an owner in the fast lane, or of one that is gone
            run = executions.run_of_owner(stack, record)
        return _told(stack, record, run)
    run = executions.run_on(stack, about)
    try:
        record = find(stack, id_in(run.input or "") or "")
    except Problem:
        parts, now = [part_of(run)], datetime.datetime.fromtimestamp(stack.now(), datetime.UTC)
        told = {"id": id_in(run.input or ""), "execution": executions.as_json(run)}
        return {**dict.fromkeys(KEYS), **told, **_timeline(parts, {}, now, [])}
    return _told(stack, record, run)


def _told(stack: Stack, record: Record, run: Run | None) -> dict[str, Any]:
    from once.step import CLOSINGS  # slow to import, and no other command needs it

    owner, status = record["owner"], executions.owner_status(stack, record)
    request, kept_where = _request(stack, record)
    logged = _logged(stack, record, run)
    now = datetime.datetime.fromtimestamp(stack.now(), datetime.UTC)
    parts = [part_of(each) for each in executions.owners_of(stack, record, run)]
    return {
        "id": record["id"],
        **_timeline(parts, record, now, logged["attempts"]),
        "expired": has_expired(stack, record),
        "record": record,
        "lane": None if status in executions.NO_EXECUTION else stack.lane_of(owner),
        "ownerStatus": status,
        "steps": {name: step for name, step in record.get("steps", {}).items() if name != CLOSINGS},
        "request": request,
        "requestKept": kept_where,
        "refused": _refused(stack, record["id"]),
        "log": executions.where_its_log_is(stack, owner, logged["logGroup"]),
        "console": _console(stack, record, run),
        "execution": run and executions.as_json(run),
        **logged,
    }


def _timeline(
    parts: list[Part], record: Record, now: datetime.datetime, attempts: list[dict[str, Any]]
) -> dict[str, Any]:
    """{summary, timeline: {total, askedAt, endedAt, moments: [{at, until, kind, what, lasted, executions}]}}."""

    def time(milliseconds: int) -> datetime.datetime:
        return datetime.datetime.fromtimestamp(milliseconds / 1000, datetime.UTC)

    logged = [
        Logged(each["attempt"], time(each["lines"][0]["at"]), time(each["lines"][-1]["at"]))
        for each in attempts
        if each["lines"]
    ]
    told = story(parts, record, now, logged)
    timeline = {
        "total": told.total(lambda at: f"{at.astimezone(datetime.UTC):%Y-%m-%d %H:%M:%S}"),
        "askedAt": iso(told.asked),
        "endedAt": iso(told.ended),
        "moments": [
            {
                "at": iso(each.at),
                "until": iso(each.until),
                "kind": each.kind,
                "sign": each.sign,
                "what": each.what,
                "lasted": each.lasted,
                "executions": list(each.executions),
            }
            for each in told.moments
        ],
    }
    return {"summary": told.told, "timeline": timeline}


def _request(stack: Stack, record: Record) -> tuple[Any, str | None]:
    """What an operator decides about, and where it is."""
    if record["status"] not in OPEN:
        return None, None
    found = kept.find(stack, record)
    return found.text and opened(json.loads(found.text)), found.where


def _refused(stack: Stack, id: str) -> dict[str, Any] | None:
    if (found := last_refused(stack, id, MOST_READ)) is None:
        return None
    told = {"key": found.key, "error": found.error, "message": found.message}
    return told | {"refusedAt": rejected.time_of(found.key)}


def last_refused(stack: Stack, id: str, most: int | None = None) -> rejected.Rejected | None:
    """As `newest`; None where it may not be seen: who may read records need not be let into the bucket."""
    from botocore.exceptions import ClientError

    try:
        return rejected.newest(stack, id, most)
    except ClientError as error:
        if not is_denied(error.response["Error"]["Code"]):
            raise
        return None


def _console(stack: Stack, record: Record, run: Run | None) -> str | None:
    """The page on the console of AWS of an execution in the full lane; the local cloud has none."""
    if stack.endpoint_url is not None or stack.lane_of(record["owner"]) != FULL:
        return None
    machine = stack.outputs.get("StatesConsole")
    return f"{machine.partition('#')[0]}#/v2/executions/details/{run.arn}" if machine and run else machine


def _logged(stack: Stack, record: Record, run: Run | None) -> dict[str, Any]:
    from botocore.exceptions import ClientError

    is_to_begin = attempts.is_to_begin(record, run)
    begun = record["attempts"] - is_to_begin
    told: dict[str, Any] = {"logGroup": None, "attempts": [], "notFound": begun, "notBegun": is_to_begin}
    told |= {"logCommand": None}
    try:
        if (group := attempts.log_group(stack, record["id"])) is not None:
            told |= {"logGroup": group, "logCommand": attempts.everything_at_that_time(group, record)}
            found = attempts.attempts(stack, group, record, run)
            told |= {"attempts": found, "notFound": max(0, begun - len(found))}
    except ClientError as error:  # who may read records need not be let into logs
        if not is_denied(error.response["Error"]["Code"]):
            raise
    return told
