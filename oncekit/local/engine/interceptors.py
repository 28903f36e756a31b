"""Ready-made interceptors of service calls: the ways in which a call can fail.

Each selects calls by state, action (boto3's method name) and execution ARN; what is left out matches all. It affects
the n-th matching call, counted from 1; `nth=0` affects all of them, a range those in it.

    never_arrives, answer_lost    the connection breaks before or after the call is applied
    times_out, fails              no answer in time, an error
    breaks                        Step Functions cannot go on: `States.Runtime`
    before                        something else happens just before the call
    runs_twice                    for `cloud.repeating`: an Express execution runs once more
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypedDict, Unpack

from botocore.exceptions import ConnectionClosedError

from oncekit.asl.errors import RUNTIME, StateError
from oncekit.local.client_errors import client_error
from oncekit.local.engine.repeats import Again
from oncekit.local.engine.service_calls import Call, Interceptor

Proceed = Callable[[], dict[str, Any]]


class Select(TypedDict, total=False):
    """The calls that a fault affects."""

    state: str
    action: str
    execution: str
    nth: int | range


def never_arrives(**select: Unpack[Select]) -> Interceptor:
    """The connection breaks before the service sees the call."""

    def strike(call: Call, _proceed: Proceed) -> dict[str, Any]:
        raise lost(call)

    return _striking(strike, select)


def answer_lost(**select: Unpack[Select]) -> Interceptor:
    """The service does the call, and the connection breaks before the answer arrives."""

    def strike(call: Call, proceed: Proceed) -> dict[str, Any]:
        proceed()
        raise lost(call)

    return _striking(strike, select)


def times_out(*, applied: bool = False, **select: Unpack[Select]) -> Interceptor:
    """The state's TimeoutSeconds pass without an answer: `States.Timeout`; `applied` says whether the call was made."""

    def strike(_call: Call, proceed: Proceed) -> dict[str, Any]:
        if applied:
            proceed()
        raise TimeoutError

    return _striking(strike, select)


def breaks(**select: Unpack[Select]) -> Interceptor:
    """The call is made, and Step Functions cannot go on with its answer: `States.Runtime`."""

    def strike(_call: Call, proceed: Proceed) -> dict[str, Any]:
        proceed()
        raise StateError(RUNTIME, "as a test says")

    return _striking(strike, select)


def fails(code: str, *, status: int = 400, **select: Unpack[Select]) -> Interceptor:
    """The service refuses the call with an error code; one with a dot is the error as the state has it."""

    def strike(call: Call, _proceed: Proceed) -> dict[str, Any]:
        if "." in code:
            raise StateError(code, code)
        raise client_error(code, code, call.action, status)

    return _striking(strike, select)


def runs_twice(*, machine: str, later: float = 0.0) -> Again:
    """The first asynchronous start of an Express machine, whose ARN holds `machine`, is run once more.

    At once, side by side with the first run, or when the clock comes by `later`. For `cloud.repeating`.
    """
    counted = Counted(1)
    return lambda arn, _text: [later] if machine in arn and counted.strikes() else []


def before(act: Callable[[], object], **select: Unpack[Select]) -> Interceptor:
    """Something else happens just before the call."""

    def strike(_call: Call, proceed: Proceed) -> dict[str, Any]:
        act()
        return proceed()

    return _striking(strike, select)


def lost(call: Call) -> Exception:
    """What its caller sees of a connection that breaks."""
    return ConnectionClosedError(endpoint_url=f"{call.service}.{call.action}")


class Counted:
    """Affects the n-th call that is counted."""

    def __init__(self, nth: int | range) -> None:
        self._nth = nth
        self._seen = 0
        self._lock = threading.Lock()

    def strikes(self) -> bool:
        with self._lock:
            self._seen += 1
            return self._seen in self._nth if isinstance(self._nth, range) else self._nth in (0, self._seen)


class Selection:
    """The calls that a fault affects."""

    def __init__(self, select: Select) -> None:
        self._select = select
        self._counted = Counted(select.get("nth", 1))

    def strikes(self, call: Call) -> bool:
        """Counts the call, if it is one of those that were selected."""
        select = self._select
        selected = (
            select.get("state", call.state) == call.state
            and select.get("action", call.action) == call.action
            and select.get("execution", call.execution_arn) == call.execution_arn
        )
        return selected and self._counted.strikes()


def _striking(strike: Callable[[Call, Proceed], dict[str, Any]], select: Select) -> Interceptor:
    struck = Selection(select)
    return lambda call, proceed: strike(call, proceed) if struck.strikes(call) else proceed()
