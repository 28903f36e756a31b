"""The endpoint: moto's HTTP server on loopback, for functions in other processes, `aws` and boto3 clients."""

from __future__ import annotations

import contextlib
import functools
import io
import logging
import threading
from collections.abc import Callable, Iterable
from typing import Any

from oncekit.local.access_keys import AccessKeys, credential_of
from oncekit.local.account import REGION
from oncekit.local.doorkeeper import Doorkeeper
from oncekit.local.knocking import Environ, every_door, strange_key
from oncekit.local.permissions.http import HttpGuard
from oncekit.local.start_errors import PortInUseError

HOST = "127.0.0.1"


Watch = Callable[[Environ, Any], Any]
"""Gets a request and the application that would answer it; gives the one that does."""


def unwatched(_environ: Environ, application: Any) -> Any:
    return application


def way_around(environ: Environ) -> str | None:
    """moto's control paths besides the AWS services: they reset everything, or set answers."""
    if not environ["PATH_INFO"].lstrip("/").startswith("moto-api"):
        return None
    return "the local cloud has no /moto-api; `reset` of the LocalCloud makes it empty, and so does `once up` anew"


class Server:
    """Serves moto's backends from `open` until it is closed. Port 0 lets the system choose one.

    Until it is open, its address is known and its clients wait: what they ask for is not deployed yet.
    Before them stand the doorkeeper, who lets in only clients of this run, and the guard, who knows what each may do.
    `names` are what clients may call this machine besides its own names. `watch` may stand before the application.
    """

    def __init__(
        self, keys: AccessKeys, guard: HttpGuard, port: int = 0, names: Iterable[str] = (), watch: Watch = unwatched
    ) -> None:
        from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
        from werkzeug.serving import ThreadedWSGIServer

        class Handler(MotoRequestHandler):  # type: ignore[misc]  # moto has no types here
            """Keeps connections open, and sends at once: a second packet would wait 40 ms for the first."""

            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True
            timeout = 30

            def log_request(self, *_: Any) -> None:
                pass

        class Dispatcher(DomainDispatcherApplication):  # type: ignore[misc]  # moto has no types here
            """Remembers which service a host name means: moto lists its own folder on every request."""

            def __init__(self) -> None:
                super().__init__(create_backend_app)
                self.get_backend_for_host = functools.cache(super().get_backend_for_host)

            def __call__(self, environ: dict[str, Any], start_response: Any) -> Any:
                _in_header(environ)
                answer = watch(environ, guard.refusal(environ) or super().__call__)
                return answer(environ, start_response)

        class Loopback(ThreadedWSGIServer):
            daemon_threads = True
            block_on_close = False
            request_queue_size = 512

        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        try:
            with contextlib.redirect_stderr(io.StringIO()):  # werkzeug prints its advice and exits
                front = Doorkeeper(Dispatcher(), *every_door(*names), way_around, strange_key(keys))
                self._server = Loopback(HOST, port, front, Handler)
        except (OSError, SystemExit) as error:
            raise PortInUseError(f"port {port} of {HOST} is in use; choose another one, or 0 for any") from error
        self._thread: threading.Thread | None = None

    def open(self) -> None:
        """Answer calls from now on, also those that are waiting."""
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self._server.server_port}"

    def close(self) -> None:
        if self._thread is not None:
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()


def _in_header(environ: dict[str, Any]) -> None:
    """What is signed in its query, as if it was signed in its header: moto would guess a presigned URL's service."""
    credential = credential_of(environ)
    if credential is not None and not environ.get("HTTP_AUTHORIZATION"):
        scope = f"{credential.key}/20000101/{REGION}/{credential.service}/aws4_request"
        environ["HTTP_AUTHORIZATION"] = f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature=0"
