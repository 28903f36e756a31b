"""The pages that list operations and show one, and what an operator does to it."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote as in_url

from werkzeug.wrappers import Request, Response

from oncekit.console.actions import Refused
from oncekit.console.listing import STATUSES, Filter, Operation, listing
from oncekit.console.local_source import KEPT, Unknown
from oncekit.console.pages import record_address
from oncekit.console.record_view import KINDS, record_view
from oncekit.console.server.frame import Console, elsewhere, plain
from oncekit.console.story import story
from oncekit.console.summary import summary

MOST_RUNS = 50
"""Of those that ended alike, the newest."""


def requests(console: Console, request: Request) -> Response:
    asked = Filter.of(request.args)
    rows = console.source.rows()
    alone = console.source.records({row.id for row in rows})
    found = listing(rows, asked, console.source.record, alone)
    words: dict[str, Any] = {"statuses": STATUSES, "kinds": KINDS, "kept": KEPT, "now": console.source.now()}
    refused = console.source.refused()
    return console.page("requests.html", "requests", asked=asked, listing=found, refused=refused, **words)


def record(console: Console, request: Request, id: str, refused: str = "") -> Response:
    found, rows, now = console.source.record(id), console.source.rows(id), console.source.now()
    if found is None and not rows:
        raise Unknown(f"there is no record and no execution of {id}")
    view, operation = record_view(id, found or {}, now), Operation(id, rows, console.source.record)
    status = view.status or (operation.status if rows and operation.status == "REFUSED" else "")
    parts = [row.part for row in reversed(rows)]
    return console.page(
        "record.html",
        "requests",
        409 if refused else 200,
        view=view,
        ends=status,
        kind=KINDS.get(status, "stopped"),
        story=story(parts, found, now),
        told=summary(parts, found, now),
        invoked=console.source.invoked(id, rows),
        rows={row.arn: row for row in rows},
        most=MOST_RUNS,
        now=now,
        typed={name: request.form.get(name, "") for name in ("result", "failed", "because")},
        done=request.args.get("done", ""),
        refused=refused,
    )


def result(console: Console, request: Request, id: str) -> Response:
    """The text of a result that is kept apart."""
    return plain(console.source.result(id), 200)


def act(console: Console, request: Request, action: str, id: str) -> Response:
    result, failed, because = (request.form.get(name, "").strip() or None for name in ("result", "failed", "because"))
    try:
        if action == "resolve":
            done = console.actions.resolve(id, result, failed, because)
        else:
            done = (console.actions.retry if action == "retry" else console.actions.release)(id, because)
    except Refused as refused:
        return record(console, request, id, str(refused))
    return elsewhere(f"{record_address(id)}?done={in_url(done)}")
