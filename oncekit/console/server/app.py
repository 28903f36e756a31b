"""Which address is which page, and the server of them, on 127.0.0.1 and nowhere else."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

from werkzeug.exceptions import HTTPException
from werkzeug.routing import Map, Rule
from werkzeug.wrappers import Request, Response

from oncekit.console.actions import Actions
from oncekit.console.local_source import LocalSource, Unknown
from oncekit.console.server import doing, records, runs
from oncekit.console.server.frame import HEADERS, Console, elsewhere, file, plain
from oncekit.console.server.guard import Guard, new_key
from oncekit.local.endpoint.loopback import Loopback
from oncekit.local.engine.dynamodb import DYNAMODB_LOCK

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

LARGEST_FORM = 1_000_000
PAGES = {
    "/": records.requests,
    "/run/<path:arn>": runs.run,
    "/visit/<int:number>/<path:arn>": runs.visit,
    "/record/<path:id>": records.record,
    "/result/<path:id>": records.result,
    "/start": doing.start_page,
    "/waiting": doing.waiting,
    "/changes": lambda console, _: plain(str(console.source.version()), 200),
    **{f"/{name}": lambda *_, name=name: file(name) for name in ("console.css", "console.js", "icon.svg")},
}
CHANGES = {
    "/record/<path:id>": records.act,
    "/run/<path:arn>": runs.stop,
    "/start": doing.start,
    "/waiting": doing.act,
}
"""Each has the address of its page: that of what was refused can be entered again."""
ADDRESSES = Map(
    [
        *(Rule(path, endpoint=page, methods=["GET"]) for path, page in PAGES.items()),
        *(Rule(path, endpoint=change, methods=["POST"]) for path, change in CHANGES.items()),
    ],
    merge_slashes=False,
)


class ConsoleServer:
    """Serves the console from now until it is closed. Port 0 lets the system choose; without a key it makes a new one.
    Raises PortInUseError."""

    def __init__(self, source: LocalSource, actions: Actions, port: int = 0, key: str | None = None) -> None:
        self._server = Loopback(port)
        self.guard = Guard(self._server.port, key or new_key())
        self.origin = self._server.url
        self._server.open(application(source, actions, self.guard))

    @property
    def address(self) -> str:
        """What to open: with the key."""
        return f"{self.origin}/?key={self.guard.key}"

    def close(self) -> None:
        self._server.close()


def application(source: LocalSource, actions: Actions, guard: Guard) -> WSGIApplication:
    """The console as a WSGI application."""
    console = Console(source, actions)

    def app(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        request = Request(environ)
        request.max_content_length = LARGEST_FORM
        request.max_form_memory_size = LARGEST_FORM
        with DYNAMODB_LOCK.ahead():  # of a storm of executions: somebody waits for the page
            answer = _answer(console, guard, request)
        answer.headers.update(HEADERS)
        return answer(environ, start_response)

    return app


def _answer(console: Console, guard: Guard, request: Request) -> Response:
    try:
        if (why := guard.refusal(request)) is not None:
            return plain(why, 403)
        if guard.brings_key(request):
            return _with_cookie(guard, request)
        page, arguments = ADDRESSES.bind_to_environ(request.environ).match()
        answer: Response = page(console, request, **arguments)
    except Unknown as unknown:
        return console.page("missing.html", "", 404, why=str(unknown))
    except HTTPException as error:
        if error.code == 404:
            return console.page("missing.html", "", 404, why="There is no such page.")
        return plain(f"{error.code} {error.name}", error.code or 500)
    return answer


def _with_cookie(guard: Guard, request: Request) -> Response:
    """To the same view, without the key in the address: it would stay in the history and in bookmarks."""
    asked = urlencode([(name, value) for name, value in request.args.items(multi=True) if name != "key"])
    response = elsewhere("/" + quote(request.path.lstrip("/")) + (f"?{asked}" if asked else ""))
    response.set_cookie(guard.cookie, guard.key, httponly=True, samesite="Lax", path="/")
    return response
