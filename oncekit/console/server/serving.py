"""The server, on 127.0.0.1 and nowhere else."""

from __future__ import annotations

import contextlib
import io
import threading
from typing import Any

from werkzeug.serving import ThreadedWSGIServer, WSGIRequestHandler

from oncekit.console.server.app import application
from oncekit.console.server.guard import Guard
from oncekit.console.source import Actions, Source
from oncekit.local.server import HOST
from oncekit.local.start_errors import PortInUseError


class _Handler(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = 30

    def log(self, *_: Any) -> None:
        """Nothing: a page that went away is no news."""


class _Loopback(ThreadedWSGIServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def handle_error(self, *_: Any) -> None:
        """A page that went away is no error."""


class ConsoleServer:
    """Serves the console from now until it is closed. Port 0 lets the system choose. Raises PortInUseError."""

    def __init__(self, source: Source, actions: Actions | None = None, port: int = 0) -> None:
        try:
            with contextlib.redirect_stderr(io.StringIO()):  # werkzeug prints its advice and exits
                self._server = _Loopback(HOST, port, None, _Handler)  # type: ignore[arg-type]  # set below
        except (OSError, SystemExit) as error:
            raise PortInUseError(f"port {port} of {HOST} is in use; choose another one, or 0 for any") from error
        self.guard = Guard(self._server.server_port)
        self._server.app = application(source, actions, self.guard)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()

    @property
    def origin(self) -> str:
        return f"http://{HOST}:{self._server.server_port}"

    @property
    def address(self) -> str:
        """What to open: with the key."""
        return f"{self.origin}/?key={self.guard.key}"

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
