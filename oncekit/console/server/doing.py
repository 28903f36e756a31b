"""The pages from which something is started or moved: start, and what waits."""

from __future__ import annotations

import json
import secrets

from markupsafe import escape
from werkzeug.wrappers import Request, Response

from oncekit.console.actions import Refused
from oncekit.console.pages import record_address
from oncekit.console.server.frame import Console, elsewhere
from oncekit.contract.lanes import FULL, lane_of
from oncekit.contract.record_form import OPEN
from oncekit.contract.requests import opened

MOST_TIMES = 1000
MOST_OPEN = 500
"""Operations that are listed, those first that wait for a person, and the oldest."""


def start_page(console: Console, request: Request, refused: str = "") -> Response:
    events, again = console.actions.events(), request.args.get("again", "")
    name = request.args.get("event", "") or ("" if again else next(iter(events), ""))
    given = _again(console.source.run(again).input or "", bool(request.args.get("fresh"))) if again else ""
    text = escape(request.form.get("request", "") or given or events.get(name, ""))  # its lines stay lines
    values = {"events": events, "name": name, "text": text, "refused": refused, "faults": console.actions.faults()}
    chosen = {"times": "1", "lane": lane_of(again)} if again else {"times": "3", "lane": FULL}  # one has duplicates
    chosen = {"fault": "", **chosen, **request.form.to_dict()}
    return console.page("start.html", "start", 422 if refused else 200, chosen=chosen, **values)


def start(console: Console, request: Request) -> Response:
    said, times = request.form, request.form.get("times", 0, type=int)
    if not 1 <= times <= MOST_TIMES:
        return start_page(console, request, f"how often: a whole number from 1 to {MOST_TIMES}")
    try:
        id = console.actions.start(said.get("request", ""), times, said.get("lane", ""), said.get("fault", ""))
    except Refused as refused:
        return start_page(console, request, str(refused))
    return elsewhere(record_address(id) if id else "/")


def _again(text: str, fresh: bool) -> str:
    """A request as it came, to be sent once more; with a new key, if asked."""
    request = opened(json.loads(text))
    if fresh and isinstance(request, dict):
        request = request | {"idempotencyKey": f"{request.get('idempotencyKey', 'key')}-{secrets.token_hex(3)}"}
    return json.dumps(request, indent=2, ensure_ascii=False)


def waiting(console: Console, request: Request, refused: str = "") -> Response:
    open = [each for each in console.source.operations() if each.status in OPEN]
    return console.page(
        "waiting.html",
        "waiting",
        409 if refused else 200,
        open=sorted(open, key=lambda each: (each.status != "QUARANTINED", each.at)),
        most=MOST_OPEN,
        rejected=console.actions.refused(),
        queues=console.source.queues(),
        now=console.source.now(),
        done=console.done(request),
        refused=refused,
    )


def act(console: Console, request: Request) -> Response:
    """What the button says. Discarded is what the page has shown: nobody has seen what came later."""
    do, form = console.actions, request.form
    try:
        if "advance" in form:
            done = do.advance(form.get("advance", 0, type=int))
        elif "replay" in form:
            done = do.replay(form["replay"])
        else:
            done = do.discard(form["discard"], form["last"])
    except Refused as refused:
        return waiting(console, request, str(refused))
    return console.after(done, "/waiting")
