"""Ready-made interceptors for the service door: what can go wrong with a call.

Each selects calls by state, action (boto3's method name) and execution ARN, all when left out, and strikes the n-th of
them, counted from 1; `nth=0` strikes all, and a range strikes each in it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypedDict, Unpack

from botocore.exceptions import ClientError, ConnectionClosedError

from local.engine.door import Call, Interceptor

Proceed = Callable[[], dict[str, Any]]


class Select(TypedDict, total=False):
    """Which calls are struck."""

    state: str
    action: str
    execution: str
    nth: int | range


def never_arrives(**select: Unpack[Select]) -> Interceptor:
    """The connection breaks before the service sees the call."""

    def strike(call: Call, _proceed: Proceed) -> dict[str, Any]:
        raise _lost(call)

    return _striking(strike, select)


def answer_lost(**select: Unpack[Select]) -> Interceptor:
    """The service does what it was asked, and the connection breaks before the answer is there."""

    def strike(call: Call, proceed: Proceed) -> dict[str, Any]:
        proceed()
        raise _lost(call)

    return _striking(strike, select)


def times_out(*, applied: bool = False, **select: Unpack[Select]) -> Interceptor:
    """The state's TimeoutSeconds pass without an answer: `States.Timeout`; `applied` says whether the call was made."""

    def strike(_call: Call, proceed: Proceed) -> dict[str, Any]:
        if applied:
            proceed()
        raise TimeoutError

    return _striking(strike, select)


def fails(code: str, *, status: int = 400, **select: Unpack[Select]) -> Interceptor:
    """The service refuses the call with an error code."""

    def strike(call: Call, _proceed: Proceed) -> dict[str, Any]:
        error = {
            "Error": {"Code": code, "Message": code},
            "ResponseMetadata": {"HTTPStatusCode": status, "RequestId": "local"},
        }
        raise ClientError(error, call.action)  # type: ignore[arg-type]  # botocore's stubs want more metadata

    return _striking(strike, select)


def answers(answer: dict[str, Any], **select: Unpack[Select]) -> Interceptor:
    """The service is not called, and says something else than it would: a lie."""
    return _striking(lambda _call, _proceed: answer, select)


def before(act: Callable[[], object], **select: Unpack[Select]) -> Interceptor:
    """Something else happens just before the call."""

    def strike(_call: Call, proceed: Proceed) -> dict[str, Any]:
        act()
        return proceed()

    return _striking(strike, select)


def after(act: Callable[[], object], **select: Unpack[Select]) -> Interceptor:
    """Something else happens just after the call, before its answer is heard."""

    def strike(_call: Call, proceed: Proceed) -> dict[str, Any]:
        answer = proceed()
        act()
        return answer

    return _striking(strike, select)


def _lost(call: Call) -> Exception:
    return ConnectionClosedError(endpoint_url=f"{call.service}.{call.action}")


def _striking(strike: Callable[[Call, Proceed], dict[str, Any]], select: Select) -> Interceptor:
    lock = threading.Lock()
    seen = 0
    nth = select.get("nth", 1)

    def selected(call: Call) -> bool:
        return (
            select.get("state", call.state) == call.state
            and select.get("action", call.action) == call.action
            and select.get("execution", call.execution_arn) == call.execution_arn
        )

    def interceptor(call: Call, proceed: Proceed) -> dict[str, Any]:
        nonlocal seen
        if not selected(call):
            return proceed()
        with lock:
            seen += 1
            struck = seen in nth if isinstance(nth, range) else nth in (0, seen)
        return strike(call, proceed) if struck else proceed()

    return interceptor
