"""What functions do, seen from the test: each of their calls, as it comes in, and what a fault makes of it."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

CALL, LOST = "X-Once-Call", "X-Once-Lost"
READS = ("get_", "list_", "describe_", "head_", "batch_get_", "transact_get_", "query", "scan", "select_", "receive_")
SAFE_METHODS = ("GET", "HEAD", "OPTIONS", "TRACE")
"""RFC 9110, 9.2.1."""


OperationsOf = Callable[[str, Any], tuple[str, ...]]
"""The operations of a function by its name, or the one that its event names."""


class Lost(Exception):
    """The function gets no answer: its connection breaks."""


@dataclass(frozen=True)
class FunctionCall:
    """A call of a function: of AWS, of another system, or the announcement that it begins or ends."""

    function: str
    pid: int
    service: str
    """As boto3 names it; `http` for another system, `function` for the function's own beginning and end."""
    action: str
    """boto3's method, HTTP's method, or `begin` and `end`."""
    parameters: Any
    """Of AWS, or the URL."""
    line: str
    """`pay/app.py:12 in pay, called at pay/app.py:5 in handler`; empty when no code of the function leads to it."""
    step: str
    """The fenced step that the call is a part of."""
    begun: bool
    """Whether an invocation has begun; else the function is being loaded."""
    keys: tuple[str, ...]
    """The provider keys that the function has asked for."""
    owner: str = ""
    fence: int = 0
    """Of the lock in the function's event; empty where that has none."""
    operations: tuple[str, ...] = ()
    """The operation that the function runs; all of the function's where its event names none."""

    @classmethod
    def of(cls, header: str, operations_of: OperationsOf) -> FunctionCall:
        told = json.loads(header)
        operations = operations_of(told["function"], {"operation": told.pop("operation")})
        given = {**told, "parameters": json.loads(told["parameters"]), "keys": tuple(told["keys"])}
        return cls(**given, operations=operations)

    @property
    def is_read(self) -> bool:
        return self.action in SAFE_METHODS if self.service == "http" else self.action.startswith(READS)

    @property
    def names(self) -> str:
        """Every name that the parameters have: tables, buckets, queues."""
        return self.parameters if isinstance(self.parameters, str) else json.dumps(self.parameters)

    def __str__(self) -> str:
        if self.service == "function":
            return f"its {'beginning' if self.action == 'begin' else 'end'}"
        what = f"{self.service}.{self.action}"
        if self.step:
            what = f"step {self.step}" if self.action == "transact_write_items" else f"{what} of step {self.step}"
        if self.service == "http":
            what = f"{self.action} {self.parameters}"
        return f"{self.line or 'the library'}: {what}"


Make = Callable[[], bool]
"""Makes the call; whether the service did it."""
FunctionInterceptor = Callable[[FunctionCall, Make], None]
"""Stands between a function and the services; raises Lost for a call without an answer."""


@dataclass
class Watch:
    """All calls since the last reset, in their order, each with whether it was done."""

    operations_of: OperationsOf
    calls: list[tuple[FunctionCall, bool]] = field(default_factory=list)
    _interceptors: list[FunctionInterceptor] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def clear(self) -> None:
        with self._lock:
            self.calls.clear()
            self._interceptors.clear()

    @contextmanager
    def intercept(self, interceptor: FunctionInterceptor) -> Iterator[None]:
        """Interceptors see the calls of functions while the context is open, the first one outermost."""
        self._interceptors = [*self._interceptors, interceptor]
        try:
            yield
        finally:
            self._interceptors = [each for each in self._interceptors if each is not interceptor]

    def passing(self, call: FunctionCall, make: Make) -> None:
        """A call on its way. Raises Lost."""

        def made() -> bool:
            done = make()
            with self._lock:
                self.calls.append((call, done))
            return done

        for interceptor in reversed(self._interceptors):
            made = _around(interceptor, call, made)
        made()

    def around(self, environ: WSGIEnvironment, application: WSGIApplication) -> WSGIApplication:
        """The application, or what stands before it, for a request that a watched function makes."""
        header = environ.get("HTTP_X_ONCE_CALL")
        return application if header is None else self.watched(FunctionCall.of(header, self.operations_of), application)

    def watched(self, call: FunctionCall, application: WSGIApplication) -> WSGIApplication:
        """The application behind the interceptors: a call whose answer is lost gets one with the header LOST."""
        from werkzeug.wrappers import Response  # it comes with moto

        def answer(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
            answers: list[Response] = []

            def make() -> bool:
                answers.append(Response.from_app(application, environ, buffered=True))
                return answers[-1].status_code < 400

            try:
                self.passing(call, make)
            except Lost:
                answers.append(Response(headers={LOST: "yes"}))
            return answers[-1](environ, start_response)

        return answer


def _around(interceptor: FunctionInterceptor, call: FunctionCall, make: Make) -> Make:
    def made() -> bool:
        interceptor(call, make)
        return True

    return made
