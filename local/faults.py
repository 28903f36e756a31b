"""Ready-made interceptors for the service door: what can go wrong with a call.

Each selects calls by state and action (all when left out) and strikes the n-th of them, counted from 1;
`nth=0` strikes all, and a range strikes each in it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from botocore.exceptions import ClientError, ConnectionClosedError

from local.engine.door import Call, Interceptor

Proceed = Callable[[], dict[str, Any]]


def _lost(call: Call) -> Exception:
    return ConnectionClosedError(endpoint_url=f"{call.service}.{call.action}")


def _striking(
    strike: Callable[[Call, Proceed], dict[str, Any]], state: str | None, action: str | None, nth: int | range
) -> Interceptor:
    lock = threading.Lock()
    seen = 0

    def interceptor(call: Call, proceed: Proceed) -> dict[str, Any]:
        nonlocal seen
        if state not in (None, call.state) or action not in (None, call.action):
            return proceed()
        with lock:
            seen += 1
            struck = seen in nth if isinstance(nth, range) else nth in (0, seen)
        return strike(call, proceed) if struck else proceed()

    return interceptor


def never_arrives(*, state: str | None = None, action: str | None = None, nth: int | range = 1) -> Interceptor:
    """The connection breaks before the service sees the call."""

    def strike(call: Call, _proceed: Proceed) -> dict[str, Any]:
        raise _lost(call)

    return _striking(strike, state, action, nth)


def answer_lost(*, state: str | None = None, action: str | None = None, nth: int | range = 1) -> Interceptor:
    """The service does what it was asked, and the connection breaks before the answer is there."""

    def strike(call: Call, proceed: Proceed) -> dict[str, Any]:
        proceed()
        raise _lost(call)

    return _striking(strike, state, action, nth)


def fails(
    code: str, *, state: str | None = None, action: str | None = None, nth: int | range = 1, status: int = 400
) -> Interceptor:
    """The service refuses the call with an error code."""

    def strike(call: Call, _proceed: Proceed) -> dict[str, Any]:
        error = {
            "Error": {"Code": code, "Message": code},
            "ResponseMetadata": {"HTTPStatusCode": status, "RequestId": "local"},
        }
        raise ClientError(error, call.action)  # type: ignore[arg-type]  # botocore's stubs want more metadata

    return _striking(strike, state, action, nth)


def answers(
    answer: dict[str, Any], *, state: str | None = None, action: str | None = None, nth: int | range = 1
) -> Interceptor:
    """The service says something else than it would."""
    return _striking(lambda _call, _proceed: answer, state, action, nth)


def before(
    act: Callable[[], object], *, state: str | None = None, action: str | None = None, nth: int | range = 1
) -> Interceptor:
    """Something else happens just before the call."""

    def strike(_call: Call, proceed: Proceed) -> dict[str, Any]:
        act()
        return proceed()

    return _striking(strike, state, action, nth)
