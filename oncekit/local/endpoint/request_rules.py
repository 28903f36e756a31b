"""The rules by which the HTTP servers on this machine check a request before reading it.

Any page that is open in a browser can make the browser send requests to the loopback interface. But the browser always
sends Origin when a script calls another origin, and sends as Host the name that the page was loaded from.

    Foreign host     a host name that resolves to this machine (DNS rebinding), but is not one of its names
    Page             a script, form or image of a page, of any origin but one that the HTTP API is deployed for
    Strange key      a caller without an access key of this run

A rule looks at a request (WSGI's environ) and says why it is refused, or None. The filter also removes CORS headers
from every response, so that no page of another origin can read it; but not those of a template's own API, which says
itself who may.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from werkzeug.wrappers import Response

from oncekit.local.client_errors import client_error
from oncekit.local.endpoint.access_keys import AccessKeys, credential_of
from oncekit.local.permissions.http import in_protocol

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

Environ = Mapping[str, Any]
Rule = Callable[[Environ], str | None]

_OURS = re.compile(r"(?:127\.0\.0\.1|localhost|\[::1\])(?::\d{1,5})?", re.IGNORECASE | re.ASCII)
_WHERE = "http://127.0.0.1:PORT, http://localhost:PORT or http://[::1]:PORT"


def foreign_host(environ: Environ) -> str | None:
    """Refuses who calls this machine by another name than its own ones."""
    host = environ.get("HTTP_HOST")
    if host is not None and _OURS.fullmatch(host):
        return None
    refused = f"the Host of the request is {_quoted(host)}, and the local cloud answers only to {_WHERE}"
    return f"{refused}; for S3, use path-style addresses (boto3 does for these)"


def from_a_page(environ: Environ) -> str | None:
    """Also without Origin: for an image, a script or a form of another site, browsers send Sec-Fetch-Site."""
    if (origin := environ.get("HTTP_ORIGIN")) is not None:
        return f"the request comes from a web page ({_quoted(origin)}); the local cloud answers no web page"
    if environ.get("HTTP_SEC_FETCH_SITE", "none") not in ("none", "same-origin"):
        return "the request comes from a web page of another site; the local cloud answers no web page"
    return None


def from_another_page(origin: Callable[[], str | None]) -> Rule:
    """Refuses pages but those of an origin, which is asked for at each request; * is any, None is none."""

    def rule(environ: Environ) -> str | None:
        named, given = origin(), environ.get("HTTP_ORIGIN")
        return None if given is not None and named in (given, "*") else from_a_page(environ)

    return rule


def strange_key(keys: AccessKeys) -> Rule:
    """Refuses a caller without an access key of this run."""

    def rule(environ: Environ) -> str | None:
        credential = credential_of(environ)
        if credential is None:
            what = "the request is not signed"
        elif keys.holder(credential.key) is None:
            what = f"the access key {_quoted(credential.key)} is not of this run of the local cloud"
        else:
            return None
        return f'{what}; for `once up` run `eval "$(once env)"`, in a program take `environment` of the LocalCloud'

    return rule


def _quoted(value: object) -> str:
    """Short and in ASCII, because it is shown in a message and anybody can have sent it."""
    return ascii(value)[:80]


# ---- the filter ----


class RequestFilter:
    """The application behind the rules, which are checked in their order."""

    def __init__(self, application: WSGIApplication, *rules: Rule, keeps_cors: bool = False) -> None:
        self._application = application
        self._rules = rules
        self._keeps_cors = keeps_cors

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        why = next((why for rule in self._rules if (why := rule(environ)) is not None), None)
        if why is not None:
            return _refused(environ, why)(environ, start_response)
        answering = start_response if self._keeps_cors else _without_cors(start_response)
        return self._application(environ, answering)


def _refused(environ: WSGIEnvironment, why: str) -> Response:
    """The refusal in the protocol of the service of the request, so that its client shows the reason."""
    credential = credential_of(environ)
    if credential is None:
        return Response(f"{why}\n", 403, content_type="text/plain; charset=utf-8")
    return in_protocol(credential.service, environ, client_error("LocalCloudRefused", why, "HTTP", 403))


def _without_cors(start_response: StartResponse) -> StartResponse:
    def start(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> Any:
        kept = [(name, value) for name, value in headers if not name.lower().startswith("access-control-")]
        return start_response(status, kept, exc_info)

    return start
