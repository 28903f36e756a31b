"""The pages that list operations and show one, and what an operator does to it."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

from once.step import CLOSINGS
from werkzeug.exceptions import BadRequest
from werkzeug.wrappers import Request, Response

from oncekit.console.actions import Refused
from oncekit.console.asked import TIMES, WHEN, Filter
from oncekit.console.listing import DATA, STATUSES, listing
from oncekit.console.local_source import KEPT
from oncekit.console.pages import record_address
from oncekit.console.server.frame import Console, plain, zone_of
from oncekit.console.visible import text_of
from oncekit.stack.records import is_pending, stands

MOST_RUNS = 50
"""Of those that ended alike, the newest."""


def requests(console: Console, request: Request) -> Response:
    now = console.source.now()
    asked = Filter.of(request.args, now, zone_of(request))
    found = listing(console.source.operations(), asked)
    words: dict[str, Any] = {
        "statuses": STATUSES,
        "when": WHEN,
        "times": TIMES,
        "kept": KEPT,
        "now": now,
    }
    return console.page("requests.html", "requests", asked=asked, listing=found, **words)


def record(console: Console, request: Request, id: str, refused: str = "", answer: str = "") -> Response:
    """`answer` is what somebody is asked about before it is stored."""
    operation, now = console.source.operation(id), console.source.now()
    rows, known = operation.rows, operation.record
    return console.page(
        "record.html",
        "requests",
        409 if refused else 200,
        id=id,
        operation=operation,
        seen=stands(known) if known else "",
        **_told(known or {}, now),
        story=operation.story(now),
        mismatches=console.source.mismatches(operation),
        invoked=console.source.invoked(id, rows),
        own_writes=console.source.own_writes(id, rows),
        rows={row.arn: row for row in rows},
        most=MOST_RUNS,
        now=now,
        typed={name: request.form.get(name, "") for name in ("result", "failed", "because")},
        done=console.done(request),
        refused=refused,
        answer=answer,
    )


def _told(record: Mapping[str, Any], now: datetime.datetime) -> dict[str, Any]:
    lease = record.get("leaseExpiresAt", 0) if record.get("status") == "IN_PROGRESS" else 0
    names = [name for name in (*DATA, *sorted(record)) if name in record and name != "steps"]
    return {
        "record": text_of({name: record[name] for name in names}),
        "steps": {name: text_of(step) for name, step in record.get("steps", {}).items() if name != CLOSINGS},
        "result_bytes": record.get("resultRef", {}).get("bytes"),
        "is_pending": bool(record) and is_pending(record),
        "lease_lasts": max(0.0, lease - now.timestamp()),
        "has_expired": record.get("expiresAt", now.timestamp()) < now.timestamp(),
    }


def result(console: Console, request: Request, id: str) -> Response:
    """The text of a result that is kept apart."""
    return plain(console.source.result(id), 200)


def act(console: Console, request: Request, id: str) -> Response:
    """What the button says, about the record as the page has shown it."""
    result, failed, because = (request.form.get(name, "").strip() or None for name in ("result", "failed", "because"))
    do, seen, asked = console.actions, request.form["seen"], request.form["do"]
    try:
        if asked == "resolve":
            return record(console, request, id, answer=do.answer(id, result, failed, seen))
        if asked == "store":
            done = do.resolve(id, result, failed, because, seen)
        elif asked in ("retry", "release"):
            done = (do.retry if asked == "retry" else do.release)(id, because, seen)
        else:
            raise BadRequest
    except Refused as refused:
        return record(console, request, id, str(refused))
    return console.after(done, record_address(id))
