"""The pages that list operations and show one, and what an operator does to it."""

from __future__ import annotations

from typing import Any

from werkzeug.wrappers import Request, Response

from oncekit.console.actions import Refused
from oncekit.console.asked import TIMES, WHEN, Filter
from oncekit.console.listing import STATUSES, listing
from oncekit.console.local_source import KEPT
from oncekit.console.pages import record_address
from oncekit.console.picture import KINDS
from oncekit.console.record_view import record_view
from oncekit.console.server.frame import Console, plain, zone_of
from oncekit.stack.records import stands

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
        "kinds": KINDS,
        "kept": KEPT,
        "now": now,
    }
    return console.page("requests.html", "requests", asked=asked, listing=found, **words)


def record(console: Console, request: Request, id: str, refused: str = "", answer: str = "") -> Response:
    """`answer` is what somebody is asked about before it is stored."""
    operation, now = console.source.operation(id), console.source.now()
    rows = operation.rows
    view = record_view(id, operation.record or {}, now)
    status = view.status or (operation.status if operation.status == "REFUSED" else "")
    return console.page(
        "record.html",
        "requests",
        409 if refused else 200,
        view=view,
        seen=stands(operation.record) if operation.record else "",
        ends=status,
        kind=KINDS.get(status, "stopped"),
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


def result(console: Console, request: Request, id: str) -> Response:
    """The text of a result that is kept apart."""
    return plain(console.source.result(id), 200)


def act(console: Console, request: Request, action: str, id: str) -> Response:
    """Of the record as the page of this form has shown it."""
    result, failed, because = (request.form.get(name, "").strip() or None for name in ("result", "failed", "because"))
    do, seen = console.actions, request.form.get("seen", "")
    try:
        if action == "resolve" and "sure" not in request.form:
            return record(console, request, id, answer=do.answer(id, result, failed, seen))
        if action == "resolve":
            done = do.resolve(id, result, failed, because, seen)
        else:
            done = (do.retry if action == "retry" else do.release)(id, because, seen)
    except Refused as refused:
        return record(console, request, id, str(refused))
    return console.after(done, record_address(id))
