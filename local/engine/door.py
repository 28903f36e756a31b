"""The one door: every service call that the interpreter makes goes through it, and can be intercepted there."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import boto3
from botocore.client import BaseClient
from botocore.config import Config

REGION = "us-east-1"


class Lambda(Protocol):
    """What runs functions; the shapes are those of boto3's Lambda client."""

    def invoke(self, **parameters: Any) -> dict[str, Any]: ...


@dataclass(frozen=True)
class Call:
    """One service call of an execution; `action` is boto3's method name, `attempt` counts retries from 0."""

    state: str
    service: str
    action: str
    parameters: Mapping[str, Any]
    execution_arn: str
    attempt: int


Interceptor = Callable[[Call, Callable[[], dict[str, Any]]], dict[str, Any]]


class Door:
    """Cached clients, and the interceptors that stand between the interpreter and them.

    An interceptor gets the call and `proceed`. Raising before `proceed` means the call never arrived, raising after it
    means that its answer was lost, and returning something else is a lie.
    """

    def __init__(self, functions: Lambda) -> None:
        self._functions = functions
        self._clients: dict[str, BaseClient] = {}
        self._lock = threading.Lock()
        self._interceptors: list[Interceptor] = []
        self.context = threading.local()

    def client(self, service: str) -> Any:
        """A client whose every method goes through the door."""
        return _Guarded(self, service)

    def direct(self, service: str) -> Any:
        """The client itself, for tests and tools that are not the interpreter."""
        with self._lock:
            if service not in self._clients:
                self._clients[service] = boto3.client(
                    service,  # type: ignore[call-overload]  # the service is data here
                    region_name=REGION,
                    aws_access_key_id="local",
                    aws_secret_access_key="local",  # noqa: S106 the local cloud takes any
                    config=Config(parameter_validation=False, retries={"total_max_attempts": 1}),
                )
            return self._clients[service]

    @contextmanager
    def intercept(self, *interceptors: Interceptor) -> Iterator[None]:
        """Put interceptors in front, the first outermost, while the context is open."""
        self._interceptors = [*interceptors, *self._interceptors]
        try:
            yield
        finally:
            self._interceptors = [i for i in self._interceptors if i not in interceptors]

    def reset(self) -> None:
        self._interceptors = []

    def call(self, service: str, action: str, parameters: dict[str, Any]) -> dict[str, Any]:
        def make() -> dict[str, Any]:
            if service == "lambda":
                return self._invoke(parameters)
            response: dict[str, Any] = getattr(self.direct(service), action)(**parameters)
            return response

        where = self.context
        call = Call(
            getattr(where, "state", ""),
            service,
            action,
            parameters,
            getattr(where, "execution_arn", ""),
            getattr(where, "attempt", 0),
        )
        for interceptor in reversed(self._interceptors):
            make = _around(interceptor, call, make)
        try:
            return make()
        finally:
            if (stopped := getattr(where, "stopped", None)) is not None and stopped.is_set():
                raise Abandoned

    def _invoke(self, parameters: dict[str, Any]) -> dict[str, Any]:
        """A function takes real time: its execution may be stopped, or its task time out, while it goes on."""
        stopped: threading.Event = self.context.stopped
        done: Future[dict[str, Any]] = Future()

        def run() -> None:
            try:
                done.set_result(self._functions.invoke(**parameters))
            except Exception as error:  # handed over to the thread that waits
                done.set_exception(error)
            woken.set()

        woken = threading.Event()
        end = time.monotonic() + self.context.timeout
        threading.Thread(target=run, daemon=True).start()
        while not woken.wait(0.02):
            if stopped.is_set():
                raise Abandoned
            if time.monotonic() > end:
                raise TimeoutError
        return done.result()


class Abandoned(BaseException):
    """The execution was stopped while a function ran; not an Exception, since no state may handle it."""


def _around(interceptor: Interceptor, call: Call, make: Callable[[], dict[str, Any]]) -> Callable[[], dict[str, Any]]:
    return lambda: interceptor(call, make)


class _Guarded:
    """Stands in for a boto3 client in the interpreter."""

    def __init__(self, door: Door, service: str) -> None:
        self._door = door
        self._service = service

    @property
    def meta(self) -> Any:
        return self._door.direct(self._service).meta

    def __getattr__(self, action: str) -> Callable[..., dict[str, Any]]:
        return lambda **parameters: self._door.call(self._service, action, parameters)
