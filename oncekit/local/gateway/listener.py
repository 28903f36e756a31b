"""The HTTP server of an API, at a port of its own."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from oncekit.local.clock import Clock
from oncekit.local.endpoint.loopback import SENT
from oncekit.local.endpoint.request_rules import RequestFilter, foreign_host, from_another_page
from oncekit.local.gateway.callers import Callers
from oncekit.local.gateway.http_api import (
    HTTP_FAILURE,
    HttpApi,
    first_event,
    is_first_format,
    second_answer,
    second_event,
)
from oncekit.local.gateway.integrations import Integrations, Make
from oncekit.local.gateway.proxy import Invoke, event_of, is_proxy, proxied
from oncekit.local.gateway.refusals import Answer, NotRunHere, Refused, answer_to, http_answer_to, not_run
from oncekit.local.gateway.rest_api import RestApi
from oncekit.local.permissions import Permissions

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

MOST_BYTES = 10 * 1024 * 1024
"""Payload of a request (quotas of API Gateway)."""


class Gateway:
    """Answers the requests of clients. Of several APIs, each with a host of its own on AWS, the first with the path."""

    def __init__(self, callers: Callers, make: Make, invoke: Invoke, guard: Permissions, clock: Clock) -> None:
        self._callers = callers
        self._invoke = invoke
        self._integrations = Integrations(make, guard, clock)
        self._clock = clock
        self._apis: Sequence[RestApi] = ()

    def deploy(self, apis: Sequence[RestApi]) -> None:
        self._apis = apis

    @property
    def front(self) -> RequestFilter:
        """What a server serves: the gateway behind the rules for requests. Pages of an API's own origin may call."""

        def origin() -> str | None:
            return next((api.origin for api in self._apis if api.origin), None)

        return RequestFilter(self, foreign_host, from_another_page(origin), keeps_cors=True)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        from werkzeug.wrappers import Response

        if not self._apis:
            return Response("no API is deployed\n", 404)(environ, start_response)
        method, (path, _, _) = environ["REQUEST_METHOD"], str(environ["REQUEST_URI"]).partition("?")
        # All share one address here: a fixed path of one before a path with parameters of another.
        found = [(route[0].breadth, at) for at, each in enumerate(self._apis) if (route := each.route(method, path))]
        api = self._apis[min(found)[1] if found else 0]
        try:
            answer = self._http_answer(api, environ) if isinstance(api, HttpApi) else self._answer(api, environ)
        except Refused as refused:
            is_http = isinstance(api, HttpApi)
            answer = http_answer_to(refused) if is_http else answer_to(refused, api.refusals())
        except NotRunHere as reason:
            answer = not_run(reason)
        # As AWS does.
        headers = {"x-amzn-RequestId": str(uuid.uuid4()), **answer.headers}
        cookies = [("set-cookie", each) for each in answer.cookies]
        response = Response(answer.body, answer.status, headers=[*headers.items(), *cookies])
        return response(environ, start_response)

    def _http_answer(self, api: HttpApi, environ: WSGIEnvironment) -> Answer:
        from oncekit.local.gateway.variables import new_context

        origin = environ.get("HTTP_ORIGIN")
        if environ["REQUEST_METHOD"] == "OPTIONS" and origin and api.cors:
            return api.preflight(origin)
        path, _, query = str(environ["REQUEST_URI"]).partition("?")
        route = api.route(environ["REQUEST_METHOD"], path)
        if route is None:
            raise Refused("NOT_FOUND", "Not Found")
        method, parameters = route
        claims = self._callers.check(api, method, path, environ)
        content, headers = _content(environ), _headers(environ)
        context = new_context(api.stage, environ["REQUEST_METHOD"], self._clock.now(), claims)
        if not is_proxy(method):
            raise NotRunHere(f"an integration of an HTTP API of the type {method.integration.get('type')}")
        if is_first_format(method):
            event = first_event(api, method, path, query, parameters, headers, content, context)
            answer = proxied(method, event, self._invoke, failure=HTTP_FAILURE)
        else:
            event = second_event(api, method, path, query, parameters, headers, content, context)
            answer = proxied(method, event, self._invoke, second_answer, HTTP_FAILURE)
        return api.with_cors(answer, origin)

    def _answer(self, api: RestApi, environ: WSGIEnvironment) -> Answer:
        from oncekit.local.gateway.exchange import Sent, answered  # airspeed takes its time to import
        from oncekit.local.gateway.variables import new_context

        path, _, query = str(environ["REQUEST_URI"]).partition("?")
        route = api.route(environ["REQUEST_METHOD"], path)
        if route is None:  # AWS says this of what is not there, too
            raise Refused("MISSING_AUTHENTICATION_TOKEN", "Missing Authentication Token")
        method, parameters = route
        claims = self._callers.check(api, method, path, environ)
        body, headers = _body(environ), _headers(environ)
        context = new_context(api.stage, environ["REQUEST_METHOD"], self._clock.now(), claims)
        if is_proxy(method):
            event = event_of(api, method, path, query, parameters, headers, body, context)
            return proxied(method, event, self._invoke)
        sent = Sent(method, parameters, dict(parse_qsl(query, keep_blank_values=True)), dict(headers), body)
        return answered(api, sent, self._integrations, context)


def _body(environ: WSGIEnvironment) -> str:
    """Text: what is no UTF-8 is replaced (unconfirmed, V66)."""
    return _content(environ).decode(errors="replace")


def _content(environ: WSGIEnvironment) -> bytes:
    length = int(environ.get("CONTENT_LENGTH") or 0)
    if length > MOST_BYTES:
        raise Refused("REQUEST_TOO_LARGE", "Request Too Long")
    stream: Any = environ["wsgi.input"]
    body: bytes = stream.read(length) if length else stream.read() if environ.get("wsgi.input_terminated") else b""
    return body


def _headers(environ: WSGIEnvironment) -> list[tuple[str, str]]:
    """By the names that they were sent with (V64). In HTTP/2, which is not spoken here, those are in lower case.

    White space around a value is not part of it (RFC 9110, section 5.5).
    """
    return [(name, value.strip(" \t")) for name, value in environ[SENT]]
