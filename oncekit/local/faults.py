"""Ready-made interceptors of service calls: the ways in which a call can fail.

Each selects calls by state, action (boto3's method name) and execution ARN; what is left out matches all. It affects
the n-th matching call, counted from 1; `nth=0` affects all of them, a range those in it.

    never_arrives, answer_lost, arrives_late    the connection breaks: before, after, or long before the call is applied
    times_out, fails, answers                   no answer in time, an error, a false answer
    before, after                               something else happens beside the call
    runs_twice                                  for `cloud.repeating`: an Express execution runs once more
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from copy import deepcopy
from typing import Any, TypedDict, Unpack

from botocore.exceptions import BotoCoreError, ClientError, ConnectionClosedError

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
        raise _lost(call)

    return _striking(strike, select)


def answer_lost(**select: Unpack[Select]) -> Interceptor:
    """The service does the call, and the connection breaks before the answer arrives."""

    def strike(call: Call, proceed: Proceed) -> dict[str, Any]:
        proceed()
        raise _lost(call)

    return _striking(strike, select)


def before_call(**select: Unpack[Select]) -> Select:
    """Just before a later call, of any execution; without arguments, before the next one."""
    return select


class Late:
    """An interceptor that delays calls; `outcomes` has the result of each call, an answer or an error."""

    def __init__(self, until: Select, select: Select) -> None:
        self._struck = Selection(select)
        self._later = Selection(until)
        self._held: list[Proceed] = []
        self._lock = threading.Lock()
        self.outcomes: list[dict[str, Any] | Exception] = []

    def __call__(self, call: Call, proceed: Proceed) -> dict[str, Any]:
        if self._held and self._later.strikes(call):
            self.arrive()
            return proceed()
        if not self._struck.strikes(call):
            return proceed()
        with self._lock:
            self._held.append(proceed)
        raise _lost(call)

    def arrive(self) -> None:
        """Make the delayed calls; nobody gets their answers."""
        with self._lock:
            held, self._held = self._held, []
        for proceed in held:
            try:
                self.outcomes.append(proceed())
            except (ClientError, BotoCoreError) as error:
                self.outcomes.append(error)


def arrives_late(until: Select, **select: Unpack[Select]) -> Late:
    """The connection breaks, and the call arrives all the same: at a later moment, whatever has happened by then.

    A call of a function cannot be late in this way: it belongs to its execution.
    """
    return Late(until, select)


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
    """The service is not called; the answer is a false one."""
    return _striking(lambda _call, _proceed: deepcopy(answer), select)  # its receiver may change what it is given


def runs_twice(*, machine: str = "", later: float = 0.0, nth: int | range = 1) -> Again:
    """The n-th asynchronous start of an Express machine, whose ARN holds `machine`, is run once more.

    At once, side by side with the first run, or when the clock comes by `later`. For `cloud.repeating`.
    """
    counted = Counted(nth)
    return lambda arn, _text: [later] if machine in arn and counted.strikes() else []


def before(act: Callable[[], object], **select: Unpack[Select]) -> Interceptor:
    """Something else happens just before the call."""

    def strike(_call: Call, proceed: Proceed) -> dict[str, Any]:
        act()
        return proceed()

    return _striking(strike, select)


def after(act: Callable[[], object], **select: Unpack[Select]) -> Interceptor:
    """Something else happens just after the call, before its answer arrives."""

    def strike(_call: Call, proceed: Proceed) -> dict[str, Any]:
        answer = proceed()
        act()
        return answer

    return _striking(strike, select)


def _lost(call: Call) -> Exception:
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
