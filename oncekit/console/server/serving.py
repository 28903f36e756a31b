"""The server of the console, on 127.0.0.1 and nowhere else."""

from __future__ import annotations

from oncekit.console.actions import Actions
from oncekit.console.local_source import LocalSource
from oncekit.console.server.app import application
from oncekit.console.server.guard import Guard
from oncekit.local.loopback import Loopback


class ConsoleServer:
    """Serves the console from now until it is closed. Port 0 lets the system choose. Raises PortInUseError."""

    def __init__(self, source: LocalSource, actions: Actions, port: int = 0) -> None:
        self._server = Loopback(port)
        self.guard = Guard(self._server.port)
        self.origin = self._server.url
        self._server.open(application(source, actions, self.guard))

    @property
    def address(self) -> str:
        """What to open: with the key."""
        return f"{self.origin}/?key={self.guard.key}"

    def close(self) -> None:
        self._server.close()
