"""Business functions in this process: the real code of the sample operations and of the library, as tasks.

A function is loaded as Lambda does, with its folder first on the path. Its AWS client is the local cloud's own. At
each of its points its calls can fail, others can go on, and it may die: before its first call, before and after each
call, and after the last.
"""

from __future__ import annotations

import importlib
import io
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from email.utils import formatdate
from pathlib import Path
from typing import Any
from unittest.mock import patch

from botocore.exceptions import ClientError, ConnectionClosedError

from oncekit.local import LocalCloud
from oncekit.local.engine.service_calls import Call
from oncekit.local.once_cloud import PREFIX
from oncekit.local.patching import replaced
from oncekit.promises.journal import Actor, Journal
from oncekit.proof.simulation.scheduler import Dropped, Scheduler

Handler = Callable[[Any, Any], Any]
KILLED = "Runtime.ExitError", "RequestId: 0 Error: Runtime exited with error: signal: killed"


class Died(BaseException):
    """The function's process is gone. Not an Exception, since no code in it may handle it."""


@dataclass(frozen=True)
class Point:
    """A place in a function: `begin`, `before` and `after` a call, `end`. `action` is boto3's method name."""

    function: str
    place: str
    action: str
    owner: str
    fence: int
    send: Callable[[], object] | None = field(default=None, compare=False, repr=False)
    """Before a call: makes it, as this function, whenever that may be."""


AtPoint = Callable[[Point], None]
"""Is asked at every point; raises what happens there."""


@dataclass
class Functions:
    """Runs functions; an interceptor of service calls."""

    cloud: LocalCloud
    scheduler: Scheduler
    journal: Journal
    at_point: AtPoint
    plain: dict[str, Handler] = field(default_factory=dict)
    """Handlers by operation that are not in the template."""
    _handlers: dict[str, Handler] = field(default_factory=dict)
    _at: dict[int, tuple[str, Actor]] = field(default_factory=dict)

    def interceptor(self, call: Call, proceed: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        if call.service != "lambda":
            return proceed()
        return self.invoke(call)

    def invoke(self, call: Call) -> dict[str, Any]:
        """As boto3's `invoke`; a function that takes longer than its task goes on, and nobody hears of it."""
        name = call.parameters["FunctionName"].rpartition("function:")[2].split(":")[0]
        handler = self.handler(name)
        event = json.loads(_text(call.parameters["Payload"]))
        is_business = name.startswith(PREFIX)
        lock = event.get("lock", {})
        owner = str(lock.get("owner", call.execution_arn))
        answers: list[dict[str, Any]] = []

        def reply() -> None:
            if is_business:
                self.journal.started(event)
            answers.append(_reply(handler, event))

        patience = float(self.cloud.parameters["BusinessTimeoutSeconds"]) + 5 if is_business else 35.0
        actor = Actor("function", owner, call.state, int(lock.get("fence", 0)))
        return answers[0] if self.run(name, actor, reply, patience) else _failure(*KILLED)

    def run(self, name: str, actor: Actor, work: Callable[[], object], patience: float) -> bool:
        """Does what a function does, as a task; whether it lived to its end. Raises TimeoutError; then it goes on."""
        lived: list[bool] = []

        def live() -> None:
            with suppress(Died):
                self.elsewhere(name, actor, work)
                lived.append(True)

        task = self.scheduler.spawn(live, name)
        self.scheduler.wait(lambda: task.done, self.scheduler.now() + patience)
        if not task.done:
            raise TimeoutError
        return bool(lived)

    def elsewhere(self, name: str, actor: Actor, work: Callable[[], object]) -> None:
        """Does what is no function of Once, in the task that calls; its calls have points like a function's."""
        number = self.scheduler.current.number
        self._at[number] = name, actor
        try:
            with self.journal.acting(actor):
                self._pass("begin", "")
                work()
                self._pass("end", "")
        finally:
            del self._at[number]

    @contextmanager
    def acting(self, actor: Actor) -> Iterator[None]:
        """What the function of this task does is the actor's while the context is open."""
        number = self.scheduler.current.number
        before = self._at[number]
        self._at[number] = before[0], actor
        try:
            with self.journal.acting(actor):
                yield
        finally:
            self._at[number] = before

    def call(self, action: str, make: Callable[[], Any]) -> Any:
        """A call that a function makes. A connection that breaks once is tried again, as botocore does."""
        for attempt in range(4):
            try:
                self._pass("before", action, make)
                answer = make()
                self._pass("after", action)
            except ConnectionClosedError:
                if attempt == 3:
                    raise
            else:
                return answer
        raise AssertionError

    def _pass(self, place: str, action: str, make: Callable[[], Any] | None = None) -> None:
        if self.scheduler.current.dropped:
            raise Dropped
        known = self._at.get(self.scheduler.current.number)
        if known is not None:
            name, actor = known

            def send() -> None:
                assert make is not None
                with self.journal.acting(actor):
                    make()

            self.at_point(Point(name, place, action, actor.owner, actor.fence, send if make else None))

    def handler(self, name: str) -> Handler:
        if name not in self._handlers:
            operation = name.removeprefix(PREFIX)
            if operation in self.plain:
                self._handlers[name] = self.plain[operation]
            elif name in self.cloud.functions.functions:
                self._handlers[name] = loaded(self.cloud.functions.functions[name].code)
            else:
                from oncekit.local.client_errors import function_not_found

                raise function_not_found(name)
        return self._handlers[name]

    @contextmanager
    def installed(self) -> Iterator[None]:
        """The library finds the local cloud's clients, and each function its settings."""
        import once.clients
        from once import direct, ticket_writes

        specs = self.cloud.functions.functions.values()
        settings = {name: value for spec in specs for name, value in spec.environment.items()}
        clients = {name: _Client(self, self.cloud.client(name)) for name in ("dynamodb", "s3")}
        with (
            patch.dict(os.environ, settings),
            replaced(*((module, "client", clients.__getitem__) for module in (once.clients, direct, ticket_writes))),
            self.cloud.intercept(self.interceptor),
        ):
            yield


class _Client:
    """An AWS client each of whose calls has a point before and after it; its answers have the date of the world."""

    def __init__(self, functions: Functions, client: Any) -> None:
        self._functions = functions
        self._client = client

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._client, name)
        if name in ("exceptions", "meta"):
            return found

        def send(**parameters: Any) -> Any:
            try:
                return self._dated(found(**parameters))
            except ClientError as error:
                self._dated(error.response)
                raise

        return lambda **parameters: self._functions.call(name, lambda: send(**parameters))

    def _dated(self, answer: Any) -> Any:
        date = formatdate(self._functions.scheduler.now(), usegmt=True)
        answer["ResponseMetadata"].setdefault("HTTPHeaders", {})["date"] = date
        return answer


def _reply(handler: Handler, event: Any) -> dict[str, Any]:
    try:
        answer = handler(event, None)
    except Exception as error:
        return _failure(type(error).__name__, str(error))
    return {"StatusCode": 200, "Payload": io.BytesIO(json.dumps(answer).encode())}


def _failure(kind: str, message: str) -> dict[str, Any]:
    body = json.dumps({"errorType": kind, "errorMessage": message}).encode()
    return {"StatusCode": 200, "FunctionError": "Unhandled", "Payload": io.BytesIO(body)}


def _text(payload: Any) -> str:
    return payload.decode() if isinstance(payload, bytes) else str(payload)


def loaded(folder: Path) -> Handler:
    """The handler of a folder. Each has modules of the same names, so they are forgotten afterwards."""
    _forget(folder)
    sys.path.insert(0, str(folder))
    try:
        handler: Handler = importlib.import_module("app").handler
    finally:
        sys.path.remove(str(folder))
        _forget(folder)
    return handler


def _forget(folder: Path) -> None:
    names = {path.stem for path in folder.parent.glob("*/*.py")}
    for name in names & set(sys.modules):
        if "functions" in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]
