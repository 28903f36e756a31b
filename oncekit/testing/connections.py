"""The connections of functions to other systems, which arrive here instead (`in_sockets.py`).

A connection begins as one to a proxy: `CONNECT host:port`. What follows is read as HTTP, beneath TLS if the client
begins with it. Only to a server on this machine something else may be sent: it is passed on as it is.
Without CONNECT, the kit's part in the function's process tells something, or asks for the certificate of a host.
"""

from __future__ import annotations

import ipaddress
import re
import select
import socket
import ssl
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, closing, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol

from oncekit.testing.watch import CALL, Lost

USUAL_PORTS = {"http": 80, "https": 443}
Place = tuple[str, int]
_STARTS_HTTP = re.compile(rb"(GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS|TRACE) ")
_STARTS_TLS = b"\x16"
_CHUNK = 1 << 16


@dataclass(frozen=True)
class Received:
    """A request, as it came."""

    told: str
    """Which call of the function it is: the header of in_function.py."""
    method: str
    url: str
    headers: Mapping[str, str]
    """Their names are in lower case."""
    body: bytes
    place: Place


@dataclass(frozen=True)
class Answer:
    """What a system answers."""

    status: int
    content: bytes
    headers: Sequence[tuple[str, str]] = (("Content-Type", "application/json"),)


class Systems(Protocol):
    """What is behind the connections: see outside.py. `told` is the call of the function."""

    def answers(self, place: Place) -> bool: ...
    def handshake(self) -> AbstractContextManager[None]: ...
    def refused(self, told: str, place: Place, why: str = "") -> str: ...
    def announced(self, told: str) -> None: ...
    def answered(self, received: Received) -> Answer: ...


def is_here(place: Place) -> bool:
    """Whether a server of this machine is meant."""
    try:
        address = ipaddress.ip_address(place[0])
    except ValueError:
        return place[0] in ("", "localhost")
    return address.is_loopback or address.is_unspecified


class Connections(ThreadingHTTPServer):
    """Listens on 127.0.0.1. One thread for each connection."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, systems: Systems) -> None:
        super().__init__(("127.0.0.1", 0), _Connection)
        self.systems = systems
        self.open: dict[int, _Connection] = {}
        """By the port of the function's side."""


class _Connection(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Connections
    told = ""
    place: Place | None = None
    scheme = "http"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("do_"):  # any method of HTTP
            return self._take
        raise AttributeError(name)

    def log_message(self, *_: Any) -> None:
        pass

    def handle(self) -> None:
        with suppress(ConnectionError, ssl.SSLEOFError):  # the function is gone, or has had enough
            super().handle()

    def finish(self) -> None:
        if self.server.open.get(self.client_address[1]) is self:
            del self.server.open[self.client_address[1]]
        with suppress(OSError):
            super().finish()
        self.connection.close()  # of TLS, the server knows nothing

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        if self.place is not None:
            self.server.systems.refused(self.told, self.place, f"it is no HTTP/1.1 ({message})")
        self.close_connection = True

    # ---- the beginning ----

    def do_REFUSE(self) -> None:
        """What cannot be led here, such as a datagram."""
        self._reply(502, self.server.systems.refused(self.headers[CALL], _place(self.path)))

    def do_CONNECT(self) -> None:
        self.place, self.told = _place(self.path), self.headers[CALL]
        if is_here(self.place):
            self._open_here(self.place)
        elif self.server.systems.answers(self.place):
            self._reply(200)
            if self.connection.recv(1, socket.MSG_PEEK) == _STARTS_TLS:
                self._secure(self.place)
        else:
            self._reply(502, self.server.systems.refused(self.told, self.place))

    def _reply(self, status: int, reason: str = "") -> None:
        self.wfile.write(f"HTTP/1.0 {status} {reason}\r\n\r\n".encode())
        self.close_connection = status != 200
        if status == 200:
            self.server.open[self.client_address[1]] = self

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

        with self.server.systems.handshake():
            try:
                self.request = context(place[0]).wrap_socket(self.connection, server_side=True)
            except ssl.SSLEOFError:
                self.close_connection = True
            except ssl.SSLError as error:
                self.server.systems.refused(self.told, place, f"its client does not trust the test ({error.reason})")
                self.close_connection = True
            else:
                self.scheme = "https"
                self.setup()

    # ---- requests ----

    def _take(self) -> None:
        body = self._body()
        try:
            answer = self._answered(body)
        except Lost:
            self.close_connection = True
            return
        self.send_response_only(answer.status)
        for name, value in (*answer.headers, ("Content-Length", str(len(answer.content)))):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(b"" if self.command == "HEAD" else answer.content)

    def _body(self) -> bytes:
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            return b"".join(iter(self._chunk, b""))
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def _chunk(self) -> bytes:
        chunk = self.rfile.read(int(self.rfile.readline().partition(b";")[0], 16))
        self.rfile.readline()
        return chunk

    def _answered(self, body: bytes) -> Answer:
        if self.place is None:
            return self._told()
        headers = {name.lower(): value for name, value in self.headers.items()}
        return self.server.systems.answered(
            Received(self.told, self.command, self._url(self.place), headers, body, self.place)
        )

    def _told(self) -> Answer:
        """What the kit itself sends: where to go on, or which call the next bytes of a connection are of."""
        if self.path.startswith("/certificate/"):
            from oncekit.testing.certificates import certificate

            return Answer(200, certificate(self.path.removeprefix("/certificate/")))
        told, port = self.headers[CALL], self.path.removeprefix("/")
        if port:
            if (connection := self.server.open.get(int(port))) is not None:
                connection.told = told
        else:
            self.server.systems.announced(told)
        return Answer(200, b"")

    def _url(self, place: Place) -> str:
        if not self.path.startswith("/"):
            return self.path
        host = self.headers.get("Host") or "{}:{}".format(*place)
        return f"{self.scheme}://{host.removesuffix(f':{USUAL_PORTS[self.scheme]}')}{self.path}"


def _place(text: str) -> Place:
    host, _, port = text.rpartition(":")
    return host, int(port)


def _pass_on(one: socket.socket, other: socket.socket) -> None:
    """What either side sends, until one of them ends."""
    to = {one: other, other: one}
    while True:
        for each in select.select(list(to), [], [])[0]:
            sent = each.recv(_CHUNK)
            if not sent:
                return
            to[each].sendall(sent)
