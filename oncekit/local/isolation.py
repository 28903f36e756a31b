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
            (socket.socket, "connect", _on_loopback(socket.socket.connect, _host_of)),
            (socket.socket, "connect_ex", _on_loopback(socket.socket.connect_ex, _host_of)),
            (socket, "getaddrinfo", _on_loopback(socket.getaddrinfo, lambda host, *_: host)),
        ):
            yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _host_of(_socket: socket.socket, address: Any) -> Any:
    return address[0] if isinstance(address, tuple) else "localhost"  # a path on this machine


def _on_loopback(call: Callable[..., Any], host_of: Callable[..., Any]) -> Callable[..., Any]:
    def checked(*args: Any, **kwargs: Any) -> Any:
        host = host_of(*args)
        name = host.decode() if isinstance(host, bytes) else str(host or "localhost")
        if not name.startswith("127.") and name not in ("::1", "localhost"):
            raise NotLocalError(f"the local cloud never calls other machines, but something tried to reach {name}")
        return call(*args, **kwargs)

    return checked
