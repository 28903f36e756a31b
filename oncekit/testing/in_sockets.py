"""The sockets of a function's process: none leads to another machine, whichever client opens it.

A name is not resolved; it gets an address of its own, of a network that no machine is in. What is connected to another
machine, or to a server on this one, is connected to the test instead (`connections.py`), as to a proxy: `CONNECT
host:port`. TLS ends there, so each context trusts the test's certificate of the host, too. What the test does not take
is refused, with its reason. Datagrams to other machines are always refused.

All this is done in the classes of `socket` and `ssl`, which pure Python clients are made of. What goes round them is
stopped by an audit hook. Only code that is not Python's opens sockets that nobody sees here: other programs, gRPC,
libpq, libcurl.
"""

import contextlib
import errno
import http.client
import ipaddress
import os
import socket
import ssl
import sys
from collections.abc import Callable
from typing import Any

HOST, _, PORT = os.environ["ONCE_TESTING_OUTSIDE"].rpartition(":")
TEST = {socket.AF_INET: (HOST, int(PORT)), socket.AF_INET6: (f"::ffff:{HOST}", int(PORT))}
"""By family of the socket."""
OURS = (
    os.environ["ONCE_TESTING_OUTSIDE"],
    os.environ.get("AWS_ENDPOINT_URL", "").rpartition("/")[2],
)
"""Of the test and the local cloud: reached directly."""
CALL = "X-Once-Call"
SECONDS = 30.0
FIRST_ADDRESS = ipaddress.IPv4Address("198.18.0.1")
"""RFC 2544 keeps 198.18.0.0/15 for benchmarks: it is routed nowhere."""

SENDINGS = ("socket.connect", "socket.sendto", "socket.sendmsg")
LOOKUPS = ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr")
"""Audit events: https://docs.python.org/3/library/audit_events.html."""

Place = tuple[str, int]
Told = Callable[[str, str, Any], str]

_CONNECT, _SENDTO, _GETADDRINFO = socket.socket.connect, socket.socket.sendto, socket.getaddrinfo
_addresses: dict[str, str] = {}
_names: dict[str, str] = {}


def ask(what: str, call: str) -> bytes:
    """Send something of the kit's own to the test, and return the answer. Raises ConnectionError for none."""
    connection = http.client.HTTPConnection(HOST, int(PORT), timeout=SECONDS)
    with contextlib.closing(connection):
        connection.request("POST", f"/{what}", headers={CALL: call})
        return connection.getresponse().read()


# ---- names ----


def address_of(host: Any) -> Any:
    """An address instead of a name. What is an address already, or this machine, stays."""
    name = host.decode() if isinstance(host, bytes | bytearray) else host
    if not name or name == "localhost" or _address(name):
        return host
    if name == socket.gethostname():
        return HOST
    if name not in _addresses:
        _addresses[name] = str(FIRST_ADDRESS + len(_addresses))
        _names[_addresses[name]] = name
    return _addresses[name]


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        return None


def getaddrinfo(host: Any, port: Any, family: int = 0, type: int = 0, proto: int = 0, flags: int = 0) -> Any:
    return _GETADDRINFO(address_of(host), port, family, type, proto, flags)


def gethostbyname(host: str) -> str:
    return HOST if host in ("", "localhost") else str(address_of(host))


def gethostbyaddr(host: str) -> tuple[str, list[str], list[str]]:
    return _names.get(host, host), [], [address_of(host)]


# ---- connections ----


def leads_to(sock: socket.socket, address: Any) -> Place | None:
    """The name and the port that an address leads to; None for what is reached directly."""
    if sock.family not in TEST or not isinstance(address, tuple):
        return None
    name = address[0].decode() if isinstance(address[0], bytes | bytearray) else address[0]
    name, port = _names.get(name, name), address[1]
    if f"{name}:{port}" in OURS or (sock.type != socket.SOCK_STREAM and is_here(name)):
        return None
    return name, port


def is_here(name: str) -> bool:
    found = _address(name)
    return name in ("", "localhost") or (found is not None and (found.is_loopback or found.is_unspecified))


def watch_sockets(told: Told) -> None:
    """`told` makes of a service, an action and parameters what the test is told of a call."""

    def connect(self: socket.socket, address: Any) -> None:
        place = leads_to(self, address)
        if place is None:
            _CONNECT(self, address)
        elif self.type != socket.SOCK_STREAM:
            refuse(place)
        else:
            timeout = self.gettimeout()
            self.settimeout(SECONDS)  # of one that does not block, too: the test answers at once
            try:
                _through_the_test(self, place, told("http", "", None))
            finally:
                self.settimeout(timeout)

    def sendto(self: socket.socket, data: Any, *rest: Any) -> int:
        if place := leads_to(self, rest[-1]):
            refuse(place)
        return _SENDTO(self, data, *rest)

    def refuse(place: Place) -> None:
        reason = ask("refused/{}:{}".format(*place), told("http", "", None)).decode()
        raise ConnectionRefusedError(errno.ECONNREFUSED, reason)

    def trusting(wrap: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(self: ssl.SSLContext, *arguments: Any, **options: Any) -> Any:
            if host := options.get("server_hostname"):
                name = host.decode() if isinstance(host, bytes) else host
                self.load_verify_locations(cadata=ask(f"certificate/{name}", "").decode())
            return wrap(self, *arguments, **options)

        return wrapped

    def audit(event: str, arguments: tuple[Any, ...]) -> None:
        """What does not use the classes that are changed here. An exception stops it."""
        if event in SENDINGS:
            place = leads_to(*arguments)
            if place and not is_here(place[0]):
                refuse(place)
        elif event in LOOKUPS and address_of(arguments[0]) != arguments[0]:
            refuse((arguments[0], 0))

    context: Any = ssl.SSLContext
    context.wrap_socket, context.wrap_bio = trusting(context.wrap_socket), trusting(context.wrap_bio)
    module: Any = socket
    module.socket.connect, module.socket.sendto, module.getaddrinfo = connect, sendto, getaddrinfo
    module.gethostbyname, module.gethostbyaddr = gethostbyname, gethostbyaddr
    sys.addaudithook(audit)


def _through_the_test(sock: socket.socket, place: Place, call: str) -> None:
    """Connect to the test, and say where it was to go. Raises ConnectionRefusedError with the reason."""
    _CONNECT(sock, TEST[sock.family])
    sock.sendall("CONNECT {}:{} HTTP/1.0\r\n{}: {}\r\n\r\n".format(*place, CALL, call).encode())
    answer = bytearray()
    while not answer.endswith(b"\r\n\r\n") and (byte := sock.recv(1)):  # what follows is for the client
        answer += byte
    _, status, reason = answer.split(b"\r\n")[0].decode().split(" ", 2)
    if status != "200":
        raise ConnectionRefusedError(errno.ECONNREFUSED, reason)
