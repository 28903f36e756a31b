"""A web server on 127.0.0.1 and nowhere else: the endpoint of AWS, the HTTP API and the console are one each."""

from __future__ import annotations

import contextlib
import io
import logging
import socket
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

HOST = "127.0.0.1"
SENT = "once.headers"
"""In WSGI's environ: the headers as they were sent, each with its name. WSGI's own have no small letters."""


class PortInUseError(OSError):
    """Another program uses the port."""


class Loopback:
    """Serves an application from `open` until it is closed. Port 0 lets the system choose. Raises PortInUseError.

    Until it is open, its address is known and its clients wait. `base` is werkzeug's handler of requests, or one of it.
    `now` is the time that answers tell as their date.
    """

    def __init__(self, port: int, base: type | None = None, now: Callable[[], float] = time.time) -> None:
        from werkzeug.serving import ThreadedWSGIServer, WSGIRequestHandler

        class Handler(base or WSGIRequestHandler):  # type: ignore[misc]  # a class that is given has no type here
            """Keeps connections open, and sends at once: a second packet would wait 40 ms for the first."""

            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True
            timeout = 30

            def make_environ(self) -> dict[str, Any]:
                return {**super().make_environ(), SENT: tuple(self.headers.items())}

            def date_time_string(self, timestamp: float | None = None) -> str:
                return str(super().date_time_string(now() if timestamp is None else timestamp))

            def log(self, *_: Any) -> None:
                """Nothing: neither a request nor a client that went away is news."""

        class Threaded(ThreadedWSGIServer):
            daemon_threads = True
            block_on_close = False
            request_queue_size = 512

            def handle_error(self, request: Any, client_address: Any) -> None:
                if not isinstance(sys.exc_info()[1], ConnectionError):  # the client went away
                    super().handle_error(request, client_address)

        self._handler: type = Handler
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        try:
            with contextlib.redirect_stderr(io.StringIO()):  # werkzeug prints its advice and exits
                self._server = Threaded(HOST, port, None, Handler)  # type: ignore[arg-type]  # `open` has it
        except (OSError, SystemExit) as error:
            told = f"port {port} of {HOST} is in use, perhaps by another `once up`; choose another one, or 0 for any"
            raise PortInUseError(told) from error
        self._thread: threading.Thread | None = None

    @property
    def port(self) -> int:
        return self._server.server_port

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}"

    def handle(self, connection: socket.socket, address: Any, kind: type, **members: Any) -> None:
        """A connection that came elsewhere, by another kind of handler, which has these members."""
        handler = type(kind.__name__, (self._handler, kind), members)
        handler(connection, address, self._server)

    def open(self, application: Any) -> None:
        """Answer calls from now on, also those that are waiting."""
        self._server.app = application
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()

    def close(self) -> None:
        if self._thread is not None:
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()
