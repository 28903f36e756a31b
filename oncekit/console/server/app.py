"""Which address is which page."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from werkzeug.exceptions import HTTPException
from werkzeug.routing import Map, Rule
from werkzeug.wrappers import Request, Response

from oncekit.console.actions import Actions
from oncekit.console.local_source import LocalSource
from oncekit.console.rows import Unknown
from oncekit.console.server import live
from oncekit.console.server.answers import elsewhere, file, plain
from oncekit.console.server.guard import Guard
from oncekit.console.server.views import Console

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

LARGEST_FORM = 1_000_000
FILES = ("console.css", "console.js", "icon.svg")
ADDRESSES = Map(
    [
        Rule("/", endpoint="requests", methods=["GET"]),
        Rule("/rows", endpoint="rows", methods=["GET"]),
        Rule("/body/run/<path:arn>", endpoint="run_body", methods=["GET"]),
        Rule("/steps/<path:arn>", endpoint="steps", methods=["GET"]),
        Rule("/visit/<int:number>/<path:arn>", endpoint="visit", methods=["GET"]),
        Rule("/further/<path:arn>", endpoint="further", methods=["GET"]),
        Rule("/events/<path:arn>", endpoint="events", methods=["GET"]),
        Rule("/run/<path:arn>", endpoint="run", methods=["GET"]),
        Rule("/body/record/<path:id>", endpoint="record_body", methods=["GET"]),
        Rule("/record/<path:id>", endpoint="record", methods=["GET"]),
        Rule("/act/<any(retry, release, resolve):action>/<path:id>", endpoint="act", methods=["POST"]),
        Rule("/result/<path:id>", endpoint="result", methods=["GET"]),
        Rule("/beside", endpoint="beside", methods=["GET"]),
        Rule("/calls", endpoint="calls", methods=["GET"]),
        Rule("/body/calls", endpoint="calls_body", methods=["GET"]),
        Rule("/start", endpoint="start_page", methods=["GET"]),
        Rule("/start", endpoint="start", methods=["POST"]),
        Rule("/waiting", endpoint="waiting", methods=["GET"]),
        Rule("/body/waiting", endpoint="waiting_body", methods=["GET"]),
        Rule("/advance", endpoint="advance", methods=["POST"]),
        Rule("/replay", endpoint="replay", methods=["POST"]),
        Rule("/discard", endpoint="discard", methods=["POST"]),
        Rule("/stop/<path:arn>", endpoint="stop", methods=["POST"]),
        Rule("/changes", endpoint="changes", methods=["GET"]),
        *(Rule(f"/{name}", endpoint=f"file:{name}", methods=["GET"]) for name in FILES),
    ],
    merge_slashes=False,
)


def application(source: LocalSource, actions: Actions, guard: Guard) -> WSGIApplication:
    """The console as a WSGI application."""
    console = Console(source, actions, guard.token)

    def app(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        request = Request(environ)
        request.max_content_length = LARGEST_FORM
        request.max_form_memory_size = LARGEST_FORM
        return _answer(console, guard, request)(environ, start_response)

    return app


def _answer(console: Console, guard: Guard, request: Request) -> Response:
    try:
        if (why := guard.refusal(request)) is not None:
            return plain(why, 403)
        if guard.brings_key(request):
            return _with_cookie(guard)
        endpoint, arguments = ADDRESSES.bind_to_environ(request.environ).match()
        if endpoint.startswith("file:"):
            return file(endpoint.removeprefix("file:"))
        if endpoint == "changes":
            return live.changes(console.source)
        if endpoint == "steps":
            return live.steps(console.source, arguments["arn"])
        answer: Response = getattr(console, endpoint)(request, **arguments)
    except Unknown as unknown:
        return _not_there(console, str(unknown))
    except HTTPException as error:
        if error.code == 404:
            return _not_there(console, "There is no such page.")
        return plain(f"{error.code} {error.name}", error.code or 500)
    return answer


def _with_cookie(guard: Guard) -> Response:
    """To the same console, without the key in the address: it would stay in the history and in bookmarks."""
    response = elsewhere("/")
    response.set_cookie(guard.cookie, guard.key, httponly=True, samesite="Lax", path="/")
    return response


def _not_there(console: Console, why: str) -> Response:
    return console.page("missing.html", "", 404, why=why)
