"""The connections of functions to other systems, which arrive here instead (`in_sockets.py`).

A connection begins as one to a proxy: `CONNECT host:port`; one of a function in Node.js was announced, and has no such
beginning (`in_node.cjs`); a bootstrap takes the test for its proxy (`in_bootstrap.py`). What follows is one request
of HTTP, beneath TLS if the client begins with it; then it ends, so each connection is of one call of the function. Only
to a server on this machine something else may be sent: it is passed on as it is.
"""

from __future__ import annotations

import base64
import ipaddress
import re
import select
import socket
import ssl
import threading
from contextlib import AbstractContextManager, closing, suppress
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

from werkzeug.serving import WSGIRequestHandler

from oncekit.local.endpoint.loopback import HOST, Loopback
from oncekit.testing.watch import CALL

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

PLACE, URL = "once.place", "once.url"
"""In a request's environment: where the function connected to, and what it asked for."""
USUAL_PORTS = {"http": 80, "https": 443}
Place = tuple[str, int]
_STARTS_HTTP = re.compile(rb"(GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS|TRACE) ")
_STARTS_TLS = b"\x16"
_CHUNK = 1 << 16
SECONDS_TO_CONNECT = 5


def place_of(text: str) -> Place:
    host, _, port = text.rpartition(":")
    return host, int(port)


def is_here(place: Place) -> bool:
    """Whether a server of this machine is meant."""
    try:
        address = ipaddress.ip_address(place[0])
    except ValueError:
        return place[0] in ("", "localhost")
    return address.is_loopback or address.is_unspecified


class Systems(Protocol):
    """What is behind the connections, and the application of their server: see outside.py."""

    def answers(self, place: Place) -> bool: ...
    def opening(self) -> AbstractContextManager[None]: ...
    def refused(self, told: str, place: Place, why: str = "") -> str: ...


class Connection(WSGIRequestHandler):
    """Leads the requests of a connection to the systems outside."""

    place: Place | None = None
    told = ""
    """Which call of the function it is: the header of in_function.py."""
    scheme = "http"

    @property
    def outside(self) -> Systems:
        return self.server.app  # type: ignore[return-value]  # it is the application here

    def make_environ(self) -> WSGIEnvironment:
        if self.place is None and (
            told := _told_to_a_proxy(self.headers.get("Proxy-Authorization", ""))
        ):  # HTTP without TLS
            parts = urlsplit(self.path)
            self.place, self.told = (parts.hostname or "", parts.port or USUAL_PORTS["http"]), told
            self.path = parts._replace(scheme="", netloc="").geturl()
        environ = super().make_environ()
        if self.place is not None:
            host = self.headers.get("Host") or "{}:{}".format(*self.place)
            url = f"{self.scheme}://{host.removesuffix(f':{USUAL_PORTS[self.scheme]}')}{self.path}"
            environ |= {"HTTP_X_ONCE_CALL": self.told, PLACE: self.place, URL: url}
        return environ

    def connection_dropped(self, error: BaseException, environ: WSGIEnvironment | None = None) -> None:
        """Also by us: an answer that is lost."""
        self.close_connection = True

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        if self.place is not None:
            self.outside.refused(self.told, self.place, f"it is no HTTP/1.1 ({message})")
        self.close_connection = True

    def finish(self) -> None:
        with suppress(OSError):
            super().finish()
        self.connection.close()  # of TLS, the server knows nothing

    # ---- the beginning ----

    def do_CONNECT(self) -> None:  # noqa: N802  of http.server
        self.place, self.told = (
            place_of(self.path),
            self.headers[CALL] or _told_to_a_proxy(self.headers.get("Proxy-Authorization", "")),
        )
        self._begin(self.place)

    def _begin(self, place: Place) -> None:
        if is_here(place):
            self._open_here(place)
        elif self.outside.answers(place):
            with self.outside.opening():
                self._reply(200)
                if self.connection.recv(1, socket.MSG_PEEK) == _STARTS_TLS:
                    self._secure(place)
        else:
            self._reply(502, self.outside.refused(self.told, place))

    def _reply(self, status: int, reason: str = "") -> None:
        self.wfile.write(f"HTTP/1.0 {status} {reason}\r\n\r\n".encode())
        self.close_connection = status != 200

    def _open_here(self, place: Place) -> None:
        """HTTP is taken as any other; of what is none, either side may begin."""
        try:
            server = socket.create_connection(place)
        except OSError as error:
            self._reply(502, str(error))
            return
        with closing(server):
            self._reply(200)
            ready, _, _ = select.select([self.connection, server], [], [])
            if server in ready or not _STARTS_HTTP.match(self.connection.recv(_CHUNK, socket.MSG_PEEK)):
                self.close_connection = True
                _pass_on(self.connection, server)

    def _secure(self, place: Place) -> None:
        from oncekit.testing.certificates import context  # 0.2 s for what few tests need

        try:
            self.request = context(place[0]).wrap_socket(self.connection, server_side=True)
        except ssl.SSLEOFError:  # the function is gone, or has had enough
            self.close_connection = True
        except ssl.SSLError as error:
            self.outside.refused(self.told, place, f"its client does not trust the test ({error.reason})")
            self.close_connection = True
        else:
            self.scheme = "https"
            self.setup()


def _told_to_a_proxy(authorization: str) -> str:
    """What `in_bootstrap.py` has put into the address of the proxy, for each call of a client that goes by that."""
    kind, _, given = authorization.partition(" ")
    return base64.b64decode(given).decode().rpartition(":")[0] if kind == "Basic" else ""


def announced(server: Loopback, systems: Systems, place: Place, told: str) -> int:
    """The port at which the next connection is taken as one to this place: its function cannot begin with CONNECT."""
    listening = socket.create_server((HOST, 0))
    listening.settimeout(SECONDS_TO_CONNECT)

    def take() -> None:
        with listening, suppress(OSError):  # the function is gone
            with systems.opening():
                connection, address = listening.accept()
            server.handle(connection, address, Announced, place=place, told=told)

    threading.Thread(target=take, daemon=True).start()
    return int(listening.getsockname()[1])


class Announced(Connection):
    """A connection whose beginning was announced."""

    def handle(self) -> None:
        assert self.place is not None
        self.close_connection = False
        self._begin(self.place)
        if not self.close_connection:
            super().handle()

    def _reply(self, status: int, reason: str = "") -> None:
        self.close_connection = status != 200


def _pass_on(one: socket.socket, other: socket.socket) -> None:
    """What either side sends, until one of them ends."""
    to = {one: other, other: one}
    while True:
        for each in select.select(list(to), [], [])[0]:
            sent = each.recv(_CHUNK)
            if not sent:
                return
            to[each].sendall(sent)
