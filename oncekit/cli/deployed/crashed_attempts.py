"""Attempts that died before the library could write its line, which alone names the id: found by their request ids.

Lambda names the request id where it reports a crash: in its own line in the log, and in the error that the state
machine got. The last error is in the record while the operation is open, all of them are in the histories of owners in
the full lane. In the fast lane nothing but the time leads from an earlier attempt to its lines: such a one is a guess.
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
    failed = (event for owner in asked for event in events_of(client, owner) if "taskFailedEventDetails" in event)
    causes = (str(event["taskFailedEventDetails"].get("cause", "")) for event in failed)
    return list(dict.fromkeys(found.group() for cause in causes if (found := REQUEST_ID.search(cause))))


def guesses(client: Any, group: str, record: Record, first: int | None, last: int) -> list[str]:
    """Those that Lambda reports in a log group while an operation was at work; they may be another's.

    `first` is when the first attempt that was found began, `last` when the last one ended, in epoch ms.
    """
    begin = _acquired(record)
    start = min(begin, first or begin) - (RECOVERED_SECONDS if record.get("recoveries") else 1) * 1000
    found = (each for said in CRASHES for each in _told(client, group, said, start, last))
    return list(dict.fromkeys(found))[:MOST_GUESSES]


def _acquired(record: Record) -> int:
    try:
        at = datetime.datetime.fromisoformat(str(record["acquiredAt"]))
    except ValueError:  # a function may have written any text
        return 0
    return int((at if at.tzinfo else at.replace(tzinfo=datetime.UTC)).timestamp() * 1000)


def _told(client: Any, group: str, said: str, start: int, end: int) -> Iterator[str]:
    pages = client.get_paginator("filter_log_events").paginate(
        logGroupName=group,
        filterPattern=json.dumps(said),
        startTime=max(start, 0),
        endTime=end,
        PaginationConfig={"MaxItems": 100},
    )
    for page in pages:
        for event in page["events"]:
            if found := REQUEST_ID.search(event["message"]):
                yield found.group()
