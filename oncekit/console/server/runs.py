"""The page of a run, and what it shows when a state is opened."""

from __future__ import annotations

from shlex import quote

from markupsafe import Markup
from werkzeug.wrappers import Request, Response

from oncekit.console.actions import Refused
from oncekit.console.pages import run_address
from oncekit.console.picture import picture_in_page
from oncekit.console.requests import id_in
from oncekit.console.rows import Unknown
from oncekit.console.run import RUNNING
from oncekit.console.run_view import Span, facts, kind_and_outcome, message
from oncekit.console.server.frame import Console, elsewhere, html
from oncekit.console.words import duration
from oncekit.local.lanes import FAST, lane_of

MOST_RUNS = 50
"""Of an id, the newest."""


def run(console: Console, request: Request, arn: str, refused: str = "") -> Response:
    found = console.source.run(arn)
    span = Span.of(found, console.source.now())
    kind, outcome = kind_and_outcome(found.status, found.output, found.error)
    id = id_in(found.input or "")
    others = [row for row in console.source.rows(id) if row.arn != arn][:MOST_RUNS] if id else []
    return console.page(
        "run.html",
        "requests",
        409 if refused else 200,
        run=found,
        span=span,
        kind=kind,
        outcome=outcome,
        id=id,
        facts=facts(found, span),
        message=message(found.cause),
        picture=Markup(picture_in_page(console.source.definition(arn), found)),  # noqa: S704 escaped there
        scale=[duration(span.seconds * part) for part in (0, 0.5, 1)] if span.seconds else [],
        others=sorted(others, key=lambda row: row.outcome != "EXECUTED"),
        commands=_commands(id, arn),
        is_running=found.status == RUNNING,
        is_fast=lane_of(arn) == FAST,
        refused=refused,
    )


def _commands(id: str | None, arn: str) -> dict[str, str]:
    """Of the fast lane Step Functions keeps no history, so that no command can read one."""
    if lane_of(arn) == FAST:
        return {"show": f"once show {quote(id)}"} if id else {}
    return {"show": f"once show {quote(arn)}", "draw": f"once show {quote(arn)} --draw run.svg"}


def visit(console: Console, request: Request, number: int, arn: str) -> Response:
    """What is shown of a visit when it is opened."""
    found = console.source.run(arn)
    if not 1 <= number <= len(found.visits):
        raise Unknown(f"the execution has not entered {number} states")
    return html("visit.html", visit=found.visits[number - 1], log=console.source.log(found))


def stop(console: Console, request: Request, arn: str) -> Response:
    try:
        console.actions.stop(arn)
    except Refused as refused:
        return run(console, request, arn, str(refused))
    return elsewhere(run_address(arn))
