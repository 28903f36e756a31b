"""Responses, and the headers that each has."""

from __future__ import annotations

from typing import Any

from werkzeug.wrappers import Response

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


def html(template: str, status: int = 200, **values: Any) -> Response:
    return guarded(Response(rendered(template, **values), status, content_type="text/html; charset=utf-8"))


def file(name: str) -> Response:
    return guarded(Response(asset(name), content_type=TYPES[name.rpartition(".")[2]]))


def plain(text: str, status: int) -> Response:
    return guarded(Response(f"{text}\n", status, content_type="text/plain; charset=utf-8"))


def elsewhere(address: str) -> Response:
    """To a path of this console, after something was done."""
    return guarded(Response(status=303, headers={"Location": address}))


def guarded(response: Response) -> Response:
    response.headers.update(HEADERS)
    return response
