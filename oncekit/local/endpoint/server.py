"""The endpoint: moto's HTTP server on loopback, for functions in other processes, `aws` and boto3 clients."""

from __future__ import annotations

import functools
import io
import time
from collections.abc import Callable
from typing import Any

from werkzeug.exceptions import NotFound
from werkzeug.wrappers import Response

from oncekit.local.client_errors import client_error
from oncekit.local.endpoint.access_keys import AccessKeys, credential_of
from oncekit.local.endpoint.loopback import Loopback
from oncekit.local.endpoint.own_services import OwnServices
from oncekit.local.endpoint.request_rules import Environ, RequestFilter, foreign_host, from_a_page, strange_key
from oncekit.local.permissions import Permissions
from oncekit.local.permissions.http import FORM, asked_for, body_of, in_protocol, refusal


def way_around(environ: Environ) -> str | None:
    """moto's control paths besides the AWS services: they reset everything, or set answers."""
    if not environ["PATH_INFO"].lstrip("/").startswith("moto-api"):
        return None
    return "the local cloud has no /moto-api; `reset` of the LocalCloud empties it, and so does a new `once up`"


def _answer(environ: Environ) -> Response:
    """What is said of an operation that moto has not. AWS's clients do not repeat a call that is answered by a 501."""
    read = environ["wsgi.input"]
    environ = {**environ, "wsgi.input": io.BytesIO(read.getvalue() if isinstance(read, io.BytesIO) else b"")}
    signed = credential_of(environ)
    service = signed.service if signed else "this service"
    asked = asked_for(service, environ)
    why = f"the local cloud has no {asked.operation if asked else 'such operation'} of {service}: moto does not know it"
    return in_protocol(service, environ, client_error("NotImplemented", why, "", 501))


def _has_not(environ: Environ, start_response: Any) -> Any:
    return _answer(environ)(dict(environ), start_response)


class Server(Loopback):
    """Serves moto's backends, and `services` in front of them. Port 0 lets the system choose one.

    Until it is open, its address is known and its clients wait: what they ask for is not deployed yet.
    Before them stand the filter, which accepts only clients of this run, and the check of what each may do.
    `watch` gets a request and the application that would answer it, and gives the one that does. `now` is the time that
    answers tell as their date.
    """

    def __init__(
        self,
        keys: AccessKeys,
        permissions: Permissions,
        services: OwnServices,
        port: int = 0,
        watch: Callable[[Environ, Any], Any] = lambda _environ, application: application,
        now: Callable[[], float] = time.time,
    ) -> None:
        import flask
        from moto.moto_server import werkzeug_app
        from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app

        def application_of(service: Any) -> Any:
            if service is None:
                return _has_not
            made = create_backend_app(service)
            made.register_error_handler(NotFound, lambda _: _answer(flask.request.environ))
            return made

        class Dispatcher(DomainDispatcherApplication):  # type: ignore[misc]  # moto has no types here
            """Remembers which service a host name means: moto lists its own folder on every request."""

            def __init__(self) -> None:
                super().__init__(application_of)
                self.get_backend_for_host = functools.cache(self._backend_for)

            def _backend_for(self, host: str | None) -> Any:
                is_known = any(pattern.match(f"http://{host}") for _, pattern in self.backend_url_patterns)
                # Of a service that it has not, moto prints what its makers should do.
                return super().get_backend_for_host(host) if is_known or "amazonaws.com" not in str(host) else None

            def __call__(self, environ: dict[str, Any], start_response: Any) -> Any:
                answer = watch(environ, refusal(environ, keys, permissions) or services.in_front_of(self._moto))
                return answer(environ, start_response)

            def _moto(self, environ: dict[str, Any], start_response: Any) -> Any:
                if environ.get("CONTENT_TYPE", "").startswith(FORM):
                    body_of(environ)  # it names the operation, also when moto has read it
                try:
                    return super().__call__(environ, start_response)
                except NotImplementedError:
                    return _has_not(environ, start_response)

        # It keeps the names of an object's metadata; earlier versions of moto have none.
        super().__init__(port, getattr(werkzeug_app, "MotoRequestHandler", None), now)
        self.front = RequestFilter(Dispatcher(), foreign_host, from_a_page, way_around, strange_key(keys))
        """What it serves: `open(front)`."""
