"""The endpoint answers only once everything is deployed, at a port that is free."""

from __future__ import annotations

import socket
from urllib.parse import urlsplit

import pytest

from oncekit.local.endpoint.access_keys import AccessKeys
from oncekit.local.endpoint.loopback import Loopback, PortInUseError
from oncekit.local.endpoint.own_services import OwnServices
from oncekit.local.endpoint.server import Server
from oncekit.local.permissions import Permissions

pytestmark = pytest.mark.ours

CALL = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"


def test_a_call_before_the_endpoint_is_open_waits_and_is_answered_then() -> None:
    server = Server(AccessKeys(), Permissions(), OwnServices())
    address = urlsplit(server.url)
    with socket.create_connection((address.hostname, address.port)) as early:
        early.sendall(CALL)
        early.settimeout(0.2)
        with pytest.raises(TimeoutError):
            early.recv(1)
        server.open(server.front)
        early.settimeout(20)
        assert early.recv(12) == b"HTTP/1.1 403"
    server.close()


def test_a_port_that_another_program_uses_is_told() -> None:
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        with pytest.raises(PortInUseError, match="is in use"):
            Loopback(busy.getsockname()[1])
