"""The one place that every service call of an execution goes through, and where it can be intercepted."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import boto3
from botocore.client import BaseClient
from botocore.config import Config

from oncekit.local.account import REGION
from oncekit.local.endpoint.access_keys import AccessKey
from oncekit.local.permissions import Caller, Permissions

if TYPE_CHECKING:
    from oncekit.local.clock import Clock
    from oncekit.local.engine.live import LiveExecution
    from oncekit.local.lambda_runtime import LambdaRuntime


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


class Run(Protocol):
    """What a call asks of the run that it belongs to: runs.py."""

    execution: LiveExecution
    clock: Clock
    deadline: float

    def check(self) -> None: ...

    def waking(self, event: threading.Event) -> AbstractContextManager[None]: ...


@dataclass(frozen=True)
class Where:
    """The caller: a state of a run, its attempt, and how many real seconds it waits."""

    run: Run
    state: str
    attempt: int
    timeout: float


class ServiceCalls:
    """Cached clients, and the interceptors that stand between executions and them.

    An interceptor gets the call and `proceed`. Raising before `proceed` means the call never arrived, raising after it
    means that its answer was lost, and returning something else is a lie. A TimeoutError is the state's own timeout, a
    StateError its error.
    Whether the role of the state machine allows a call, the service says: after the interceptors.
    """

    def __init__(self, functions: LambdaRuntime, guard: Permissions, key: AccessKey) -> None:
        self._functions = functions
        self._key = key
        self._guard = guard
        self._clients: dict[str, BaseClient] = {}
        self._lock = threading.Lock()
        self._interceptors: list[Interceptor] = []
        self.answered_here: dict[str, Callable[[str, dict[str, Any]], dict[str, Any]]] = {}
        """What answers an operation of the services that are none of moto's: no client need be made to ask them."""

    def direct(self, service: str) -> Any:
        """The client itself, for tests and tools, and not for executions."""
        with self._lock:
            if service not in self._clients:
                client = boto3.client(
                    service,  # type: ignore[call-overload]  # the service is data here
                    region_name=REGION,
                    aws_access_key_id=self._key.id,
                    aws_secret_access_key=self._key.secret,
                    # A name of its own: botocore composes the long one again for each call.
                    config=Config(
                        parameter_validation=False,
                        retries={"total_max_attempts": 1},
                        user_agent="once",
                    ),
                )
                self._clients[service] = client
            return self._clients[service]

    def make(self, service: str, action: str, parameters: dict[str, Any]) -> dict[str, Any]:
        """A call of the client itself, past the interceptors."""
        if service in self.answered_here:
            return self.answered_here[service](action.title().replace("_", ""), parameters)
        answer: dict[str, Any] = getattr(self.direct(service), action)(**parameters)
        return answer

    @contextmanager
    def intercept(self, *interceptors: Interceptor) -> Iterator[None]:
        """Put interceptors in front, the first outermost, while the context is open."""
        with self._lock:
            self._interceptors = [*interceptors, *self._interceptors]
        try:
            yield
        finally:
            with self._lock:
                self._interceptors = [i for i in self._interceptors if i not in interceptors]

    def reset(self) -> None:
        self._interceptors = []

    def call(self, where: Where, service: str, action: str, parameters: dict[str, Any]) -> dict[str, Any]:
        """Make a call through the interceptors. Raises Abandoned when the execution is over, before it or after it."""
        call = Call(where.state, service, action, parameters, where.run.execution.arn, where.attempt)

        def make() -> dict[str, Any]:
            self._ask(where, service, action, parameters)
            if service == "lambda":
                return self._invoke(where, parameters)
            return self.make(service, action, parameters)

        for interceptor in reversed(self._interceptors):
            make = functools.partial(interceptor, call, make)
        where.run.check()
        try:
            return make()
        finally:
            where.run.check()  # who was stopped hears neither answers nor errors

    def _ask(self, where: Where, service: str, action: str, parameters: dict[str, Any]) -> None:
        caller = Caller(where.run.execution.role_arn, where.run.execution.name)
        if service == "lambda":  # which has no client here
            self._guard.check(caller, service, "Invoke", parameters)
        else:
            meta = self.direct(service).meta
            operation = meta.method_to_api_mapping[action]
            self._guard.check(caller, meta.service_model.signing_name, operation, parameters)

    def _invoke(self, where: Where, parameters: dict[str, Any]) -> dict[str, Any]:
        """A function takes real time: its execution may end, or its task time out, while it goes on."""
        done: Future[dict[str, Any]] = Future()
        woken = threading.Event()

        def work() -> None:
            try:
                done.set_result(self._functions.invoke(**parameters))
            except Exception as error:  # handed over to the thread that waits
                done.set_exception(error)
            woken.set()

        threading.Thread(target=work, name=f"invoke-{where.state}", daemon=True).start()
        with where.run.waking(woken):
            woken.wait(_patience(where))
        where.run.check()
        if not done.done():
            raise TimeoutError
        return done.result()


def _patience(where: Where) -> float:
    """Real seconds until the task or the whole execution times out."""
    left = where.run.clock.real_seconds(where.run.deadline - where.run.clock.now())
    longest = min(where.timeout, threading.TIMEOUT_MAX)
    return longest if left is None else max(0.0, min(longest, left))
