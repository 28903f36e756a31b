"""The endpoint: moto's HTTP server on loopback, for functions in other processes, `aws` and boto3 clients."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any

from oncekit.local.access_keys import AccessKeys
from oncekit.local.loopback import Loopback
from oncekit.local.own_services import OwnServices
from oncekit.local.permissions import Permissions
from oncekit.local.permissions.http import refusal
from oncekit.local.request_rules import Environ, RequestFilter, foreign_host, from_a_page, strange_key


def way_around(environ: Environ) -> str | None:
    """moto's control paths besides the AWS services: they reset everything, or set answers."""
    if not environ["PATH_INFO"].lstrip("/").startswith("moto-api"):
        return None
    return "the local cloud has no /moto-api; `reset` of the LocalCloud empties it, and so does a new `once up`"


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
        from moto.moto_server import werkzeug_app
        from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app

        class Dispatcher(DomainDispatcherApplication):  # type: ignore[misc]  # moto has no types here
            """Remembers which service a host name means: moto lists its own folder on every request."""

            def __init__(self) -> None:
                super().__init__(create_backend_app)
                self.get_backend_for_host = functools.cache(super().get_backend_for_host)

            def __call__(self, environ: dict[str, Any], start_response: Any) -> Any:
                answer = watch(environ, refusal(environ, keys, permissions) or services.in_front_of(super().__call__))
                return answer(environ, start_response)

        # It keeps the names of an object's metadata; earlier versions of moto have none.
        super().__init__(port, getattr(werkzeug_app, "MotoRequestHandler", None), now)
        self.front = RequestFilter(Dispatcher(), foreign_host, from_a_page, way_around, strange_key(keys))
        """What it serves: `open(front)`."""
