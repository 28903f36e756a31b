"""Services that are answered here, before moto sees the request: of a client in this process or at the endpoint alike.

The requests of both go through one function: those of clients in this process through moto's own hook in botocore, the
one attribute of moto that is replaced for it, those at the endpoint through the server.
"""

from __future__ import annotations

import functools
import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from botocore.exceptions import ClientError
from werkzeug.wrappers import Response

from oncekit.local.endpoint.access_keys import credential_of
from oncekit.local.patching import replaced
from oncekit.local.permissions.http import Asked, Environ, asked_for, body_of, in_protocol

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

Answer = tuple[int, Mapping[str, str], bytes]
"""Status, headers and body."""
Proceed = Callable[[], Answer]
"""Gives moto's answer."""


class Request:
    """A signed request."""

    def __init__(self, environ: Environ) -> None:
        self.environ = environ
        """As WSGI has it."""

    @property
    def target(self) -> str:
        """The operation of a JSON protocol, which a header names; empty in another one."""
        return str(self.environ.get("HTTP_X_AMZ_TARGET", "")).rpartition(".")[2]

    @functools.cached_property
    def body(self) -> bytes:
        return body_of(self.environ)

    @functools.cached_property
    def asked(self) -> Asked:
        """The operation and its parameters; without a name for what the service has not."""
        signed = credential_of(self.environ)
        return (asked_for(signed.service, self.environ) if signed else None) or Asked("", {})


Service = Callable[[Request, Proceed], Answer]
"""Answers by itself, or with what moto says. May raise ClientError."""


class OwnServices:
    """The services that are answered here, by the name that requests are signed for."""

    def __init__(self) -> None:
        self.named: dict[str, Service] = {}

    @contextmanager
    def behind(self, name: str, front: Callable[[Service], Service]) -> Iterator[None]:
        """While it is open, another stands before the service of this name, and can ask it."""
        before = self.named[name]
        self.named[name] = front(before)
        try:
            yield
        finally:
            self.named[name] = before

    @contextmanager
    def served(self) -> Iterator[None]:
        """While it is open, they answer the clients in this process that moto answers."""
        from moto.core.botocore_stubber import BotocoreStubber

        theirs = BotocoreStubber.process_request

        def process_request(stubber: Any, request: Any) -> Any:
            url = urlsplit(request.url)
            signed = credential_of({"HTTP_AUTHORIZATION": _text(request.headers.get("Authorization", ""))})
            # What goes to a server on this machine is asked by HTTP: the endpoint of this cloud, for one.
            if signed is None or signed.service not in self.named or url.hostname in ("127.0.0.1", "localhost", "::1"):
                return theirs(stubber, request)
            return self._answer(signed.service, Request(_environ(request, url)), lambda: theirs(stubber, request))

        with replaced((BotocoreStubber, "process_request", process_request)):
            yield

    def in_front_of(self, application: WSGIApplication) -> WSGIApplication:
        """The application, and they for their requests."""

        def answering(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
            signed = credential_of(environ)
            if signed is None or signed.service not in self.named:
                return application(environ, start_response)

            def proceed() -> Answer:
                return _of(Response.from_app(application, environ, buffered=True))

            status, headers, body = self._answer(signed.service, Request(environ), proceed)
            return Response(body, status, headers)(environ, start_response)

        return answering

    def _answer(self, service: str, request: Request, proceed: Proceed) -> Answer:
        try:
            return self.named[service](request, proceed)
        except ClientError as error:
            return _of(in_protocol(service, request.environ, error))


def _of(response: Response) -> Answer:
    return response.status_code, dict(response.headers), response.get_data()


def _environ(request: Any, url: Any) -> Environ:
    """As WSGI would have a request of botocore's."""
    body = request.body or b""
    body = body.encode() if isinstance(body, str) else bytes(body)
    headers = {f"HTTP_{name.upper().replace('-', '_')}": _text(value) for name, value in request.headers.items()}
    return {
        **headers,
        "REQUEST_METHOD": request.method,
        "PATH_INFO": unquote(url.path),
        "RAW_URI": url.path,
        "QUERY_STRING": url.query,
        "CONTENT_TYPE": headers.get("HTTP_CONTENT_TYPE", ""),
        "CONTENT_LENGTH": str(len(body)),
        "wsgi.input": io.BytesIO(body),
    }


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value
