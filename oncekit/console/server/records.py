"""The page of a record, its result, and what an operator does to it."""

from __future__ import annotations

from shlex import quote
from urllib.parse import quote as in_url

from werkzeug.wrappers import Request, Response

from oncekit.console.actions import Refused
from oncekit.console.pages import record_address
from oncekit.console.record_view import record_view, writes
from oncekit.console.rows import Unknown
from oncekit.console.server.frame import Console, elsewhere, html
from oncekit.console.server.runs import MOST_RUNS


def record(console: Console, request: Request, id: str, refused: str = "") -> Response:
    found, rows, now = console.source.record(id), console.source.rows(id), console.source.now()
    if found is None and not rows:
        raise Unknown(f"there is no record and no execution of {id}")
    return console.page(
        "record.html",
        "requests",
        409 if refused else 200,
        view=record_view(id, found or {}, now),
        writes=writes(console.source.run(row.arn) for row in reversed(rows[:MOST_RUNS])),
        rows=[(row, console.lasted(row)) for row in rows],
        now=now.timestamp() if console.source.ticks else None,
        commands={name: f"once {name} {quote(id)}" for name in ("show", "retry", "release")}
        | {"resolve": f"once resolve {quote(id)} --result FILE"},
        done=request.args.get("done", ""),
        refused=refused,
    )


def result(console: Console, request: Request, id: str) -> Response:
    """A result that is kept apart, as it is asked for."""
    return html("result.html", text=console.source.result(id))


def act(console: Console, request: Request, action: str, id: str) -> Response:
    result, failed = (request.form.get(name, "").strip() or None for name in ("result", "failed"))
    try:
        if action == "resolve":
            done = console.actions.resolve(id, result, failed)
        else:
            done = console.actions.retry(id) if action == "retry" else console.actions.release(id)
    except Refused as refused:
        return record(console, request, id, str(refused))
    return elsewhere(f"{record_address(id)}?done={in_url(done)}")
