"""What every page has: where it reads, what it may do, and the headers that every answer has."""

from __future__ import annotations

import datetime
import secrets
from dataclasses import dataclass, field
from typing import Any
from zoneinfo import ZoneInfo

from werkzeug.wrappers import Request, Response

from oncekit.console.actions import Actions
from oncekit.console.local_source import LocalSource
from oncekit.console.pages import asset, rendered

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
TYPES = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}


@dataclass(frozen=True)
class Console:
    """What the pages read, and what they do."""

    source: LocalSource
    actions: Actions
    _done: dict[str, str] = field(default_factory=dict)
    """What was done, until the page that follows it shows it once: no link can say that."""

    def page(self, template: str, here: str, status: int = 200, **values: Any) -> Response:
        """Each has the cloud's time, how far its clock was moved, and what waits for a person."""
        frame = {"now": self.source.now(), "ahead": self.actions.ahead(), "waits": self.source.waiting()}
        return html(template, status, here=here, **(frame | values))

    def after(self, done: str, address: str) -> Response:
        """To a page that says what was done."""
        self._done[key := secrets.token_urlsafe(6)] = done
        return elsewhere(f"{address}?done={key}")

    def done(self, request: Request) -> str:
        return self._done.pop(request.args.get("done", ""), "")


def html(template: str, status: int = 200, **values: Any) -> Response:
    return Response(rendered(template, **values), status, content_type="text/html; charset=utf-8")


def file(name: str) -> Response:
    return Response(asset(name), content_type=TYPES[name.rpartition(".")[2]])


def plain(text: str, status: int) -> Response:
    return Response(f"{text}\n", status, content_type="text/plain; charset=utf-8")


def zone_of(request: Request) -> datetime.tzinfo | None:
    """The browser's, which the page says in a cookie: a container has often another. None for this machine's."""
    try:
        return ZoneInfo(request.cookies["zone"])
    except (KeyError, ValueError, OSError):  # it is not said, or this machine does not know it
        return None


def elsewhere(address: str) -> Response:
    """To a path of this console, after something was done."""
    return Response(status=303, headers={"Location": address})
