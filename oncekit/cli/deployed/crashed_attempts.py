"""Attempts without a line of the library, which alone names the id: found by their request ids. Most of them died.

Lambda names the request id where it reports a crash: in its own line in the log, and in the error that the state
machine got. The last error is in the record while the operation is open, all of them are in the histories of owners in
the full lane, as are the answers of attempts that succeeded, also those of a function that does not use the library.
In the fast lane nothing but the time leads from an earlier attempt to its lines: such a one is a guess.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Iterator
from typing import Any

from oncekit.cli.deployed.owners import events_of, owners
from oncekit.cli.deployed.records import Record
from oncekit.cli.deployed.stack import Stack
from oncekit.console.json_text import members_of

REQUEST_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
CRASHES = ("Runtime exited", "Task timed out")
"""What Lambda's own line says of an attempt that ended without an answer."""
MOST_GUESSES = 5
RECOVERED_SECONDS = 3600
"""How long before the last lock of an operation that was recovered earlier attempts are looked for."""


def of_the_record(record: Record) -> str:
    """The request id in the error of a record; "" where there is none."""
    found = REQUEST_ID.search(str(record.get("error", {}).get("message", "")))
    return found.group() if found else ""


def of_histories(stack: Stack, record: Record) -> list[str]:
    """Those in the histories of a record's owners, the newest owner first."""
    client = stack.client("stepfunctions")
    asked = [each["owner"] for each in owners(stack, record) if each["startedAt"]]
    events = (event for owner in asked for event in events_of(client, owner))
    return list(dict.fromkeys(found for event in events if (found := _of_event(event))))


def _of_event(event: dict[str, Any]) -> str:
    ended = event.get("taskSucceededEventDetails", {})
    if ended.get("resourceType") == "lambda":
        return of_answer(ended.get("output"))
    found = REQUEST_ID.search(str(event.get("taskFailedEventDetails", {}).get("cause", "")))
    return found.group() if found else ""


def of_answer(output: str | None) -> str:
    """The request id in Lambda's answer, as Step Functions keeps it; "" where there is none (V85)."""
    told = members_of(output).get("SdkResponseMetadata")
    id = str(told.get("RequestId")) if isinstance(told, dict) else ""
    return id if REQUEST_ID.fullmatch(id) else ""


def guesses(client: Any, group: str, record: Record, first: int | None, last: int) -> list[str]:
    """Those that Lambda reports in a log group while an operation was at work; they may be another's.

    `first` is when the first attempt that was found began, `last` when the last one ended, in epoch ms.
    """
    found = (each for said in CRASHES for each in _told(client, group, said, begin_of(record, first), last))
    return list(dict.fromkeys(found))[:MOST_GUESSES]


def begin_of(record: Record, first: int | None) -> int:
    """In epoch ms, since when an operation may have been at work; `first` is when the first known attempt began."""
    begin = _ms(record["acquiredAt"]) or 0
    return max(0, min(begin, first or begin) - (RECOVERED_SECONDS if record.get("recoveries") else 1) * 1000)


def end_of(record: Record) -> int | None:
    """In epoch ms, until when an operation was at work; None where it is, or nobody knows."""
    return _ms(record.get("finishedAt"))


def _ms(told: object) -> int | None:
    try:
        at = datetime.datetime.fromisoformat(str(told))
    except ValueError:  # a function may have written any text
        return None
    return int((at if at.tzinfo else at.replace(tzinfo=datetime.UTC)).timestamp() * 1000)


def _told(client: Any, group: str, said: str, start: int, end: int) -> Iterator[str]:
    pages = client.get_paginator("filter_log_events").paginate(
        logGroupName=group,
        filterPattern=json.dumps(said),
        startTime=start,
        endTime=end,
        PaginationConfig={"MaxItems": 100},
    )
    for page in pages:
        for event in page["events"]:
            if found := REQUEST_ID.search(event["message"]):
                yield found.group()
