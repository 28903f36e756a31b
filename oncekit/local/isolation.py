"""Prevents this process from reaching real AWS."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from oncekit.local.account import REGION
from oncekit.local.patching import replaced

NO_KEY = {"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local"}
"""Keys for clients of this process only; an open endpoint has other keys."""
NO_PROXY = {"NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost"}
"""Calls of the local cloud go there, not to a proxy, and what they are signed with stays on this machine."""


class NotLocalError(RuntimeError):
    """Something in this process tried to reach another machine."""


@contextmanager
def no_other_cloud(credentials: Mapping[str, str] = NO_KEY) -> Iterator[None]:
    """Nothing here can reach real AWS: other credentials, no configuration, and connections to loopback only."""
    before = dict(os.environ)
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        del os.environ[name]
    os.environ |= {
        **credentials,
        **NO_PROXY,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    }
    try:
        with replaced(
            (socket.socket, "connect", _connecting_to_loopback(socket.socket.connect)),
            (socket.socket, "connect_ex", _connecting_to_loopback(socket.socket.connect_ex)),
            (socket, "getaddrinfo", _resolving_loopback(socket.getaddrinfo)),
        ):
            yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _connecting_to_loopback(connect: Callable[..., Any]) -> Callable[..., Any]:
    def connect_to_loopback(self: socket.socket, address: Any) -> Any:
        if isinstance(address, tuple):
            _refuse_beyond_loopback(address[0])
        return connect(self, address)

    return connect_to_loopback


def _resolving_loopback(getaddrinfo: Callable[..., Any]) -> Callable[..., Any]:
    def resolve(host: Any, *args: Any, **kwargs: Any) -> Any:
        _refuse_beyond_loopback(host)
        return getaddrinfo(host, *args, **kwargs)

    return resolve


def _refuse_beyond_loopback(host: Any) -> None:
    name = host.decode() if isinstance(host, bytes) else str(host or "localhost")
    if not name.startswith("127.") and name not in ("::1", "localhost"):
        raise NotLocalError(f"the local cloud never calls other machines, but something tried to reach {name}")
