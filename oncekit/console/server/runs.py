"""The page of a run, and what it shows when a state is opened."""

from __future__ import annotations

from markupsafe import Markup
from werkzeug.wrappers import Request, Response

from oncekit.console.actions import Refused
from oncekit.console.local_source import Unknown
from oncekit.console.pages import run_address
from oncekit.console.parts import part_of
from oncekit.console.picture import kind_and_outcome, picture
from oncekit.console.run import RUNNING
from oncekit.console.server.frame import Console, elsewhere, html
from oncekit.console.story import of_one
from oncekit.contract.lanes import lane_of
from oncekit.contract.requests import id_in


def run(console: Console, request: Request, arn: str, refused: str = "") -> Response:
    found = console.source.run(arn)
    part, now = part_of(found), console.source.now()
    kind, outcome = kind_and_outcome(found, part)
    id = id_in(found.input or "")
    return console.page(
        "run.html",
        "requests",
        409 if refused else 200,
        run=found,
        end=found.ended_at or now,
        kind=kind,
        outcome=outcome,
        id=id,
        told=of_one(part, now),
        picture=Markup(picture(console.source.definition(arn), found)),  # noqa: S704 escaped there
        others=len(console.source.rows(id)) - 1 if id else 0,
        is_running=found.status == RUNNING,
        lane=lane_of(arn),
        refused=refused,
    )


def visit(console: Console, request: Request, number: int, arn: str) -> Response:
    """What is shown of a visit when it is opened."""
    found = console.source.run(arn)
    if not 1 <= number <= len(found.visits):
        raise Unknown(f"the execution has not entered {number} states")
    return html("visit.html", run=found, visit=found.visits[number - 1], log=console.source.log(found))


def stop(console: Console, request: Request, arn: str) -> Response:
    try:
        console.actions.stop(arn)
    except Refused as refused:
        return run(console, request, arn, str(refused))
    return elsewhere(run_address(arn))
