"""Middleware in front of a WSGI application: accepts only requests that follow `oncekit.local.request_rules`.

It also removes CORS headers from every response, so that no page of another origin can read it; but not those of a
template's own API, which says itself who may.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from werkzeug.wrappers import Response

from oncekit.local.access_keys import credential_of
from oncekit.local.client_errors import client_error
from oncekit.local.permissions.http import in_protocol
from oncekit.local.request_rules import Rule, refusal

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

CODE = "LocalCloudRefused"
"""The error code for clients of AWS."""


class RequestFilter:
    """The application behind the rules, which are checked in their order."""

    def __init__(self, application: WSGIApplication, *rules: Rule, keeps_cors: bool = False) -> None:
        self._application = application
        self._rules = rules
        self._keeps_cors = keeps_cors

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        why = refusal(environ, self._rules)
        if why is not None:
            return _refused(environ, why)(environ, start_response)
        answering = start_response if self._keeps_cors else _without_cors(start_response)
        return self._application(environ, answering)


def _refused(environ: WSGIEnvironment, why: str) -> Response:
    """The refusal in the protocol of the service of the request, so that its client shows the reason."""
    credential = credential_of(environ)
    if credential is None:
        return Response(f"{why}\n", 403, content_type="text/plain; charset=utf-8")
    return in_protocol(credential.service, environ, client_error(CODE, why, "HTTP", 403))


def _without_cors(start_response: StartResponse) -> StartResponse:
    def start(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> Any:
        kept = [(name, value) for name, value in headers if not name.lower().startswith("access-control-")]
        return start_response(status, kept, exc_info)

    return start
