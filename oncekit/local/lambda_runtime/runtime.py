"""The Lambda service of the local cloud: functions by name, warm environments, throttling, the shapes of boto3."""

from __future__ import annotations

import io
import json
import os
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from botocore.exceptions import ClientError

from oncekit.local.account import function_arn, name_and_qualifier
from oncekit.local.client_errors import FunctionNotRun, client_error, function_not_found, throttled
from oncekit.local.endpoint.access_keys import AccessKeys
from oncekit.local.lambda_runtime import not_loaded
from oncekit.local.lambda_runtime.environment import Environment, Outcome
from oncekit.local.lambda_runtime.spec import Code, FunctionSpec, Invocation, LogLine, code_of
from oncekit.local.lambda_runtime.variables import variables_of

LATEST = "$LATEST"
LOG_LINES = 2000
"""Kept per function."""
LINES_OF_ONE = 500
"""Kept per invocation."""

MOST_IDLE = 64
"""Warm environments kept per function; a burst of more leaves no more processes behind."""

MOST_PUT_AWAY = 32
"""Functions whose warm environments wait for their next registration; those of others that were there before end."""

MOST_STARTING = max(4, 2 * (os.cpu_count() or 1))
"""Environments of all functions that start at the same time: more would only take each other's processor."""

SECONDS_TO_END = 15.0
"""Bounds the wait for invocations that have been killed."""


@dataclass(eq=False)
class _Function:
    """`version` grows with each registration, as AutoPublishAlias has it; both qualifiers run the newest code."""

    name: str
    spec: FunctionSpec
    code: Code
    version: int = 0
    loaded: int = 0
    """The newest version whose code was loaded."""
    idle: list[Environment] = field(default_factory=list)
    waiting: int = 0
    log: deque[str] = field(default_factory=lambda: deque(maxlen=LOG_LINES))


class LambdaRuntime:
    """Runs registered functions in processes of their own and remembers every invocation. Thread-safe.

    `environment` is given to every function: endpoint and region. `on_output` gets each line that goes into the log of
    a function, as it is printed, from other threads; it must not raise. `keys` gives each function an access key.
    """

    def __init__(
        self,
        environment: Mapping[str, str],
        on_output: Callable[[LogLine], None] | None = None,
        keys: AccessKeys | None = None,
    ) -> None:
        self._environment = dict(environment)
        self._keys = keys or AccessKeys()
        self._on_output = on_output
        self._functions: dict[str, _Function] = {}
        self._put_away: dict[str, _Function] = {}
        self._invocations: dict[str, Invocation] = {}
        self._printed: dict[str, list[str]] = {}
        """By request id."""
        self._busy: dict[str, tuple[_Function, Environment]] = {}
        self.asynchronously: Callable[[str, bytes], None] = _not_here
        """Takes an event for a function, by its ARN, that is invoked later."""
        self.in_name_only: Mapping[str, str] = {}
        """By name, why a function does not run here."""
        self._closed = False
        self._lock = threading.RLock()
        self._quiet = threading.Condition(self._lock)

    # ---- what there is ----

    @property
    def functions(self) -> Mapping[str, FunctionSpec]:
        """The registered functions."""
        with self._lock:
            return {name: function.spec for name, function in self._functions.items()}

    def register(self, name: str, spec: FunctionSpec) -> None:
        """Add a function, or replace it, the code included: environments that are there run no further invocation.

        Nothing happens when it is there already as it would be, as a deployment without a change makes no version.
        """
        code = code_of(spec)
        with self._lock:
            put_away = self._put_away.pop(name, None)
            known = self._functions.get(name) or put_away
            if known is not None and (known.spec, known.code) == (spec, code):
                self._functions[name] = known
                return
            function = self._functions.setdefault(name, _Function(name, spec, code))
            function.spec, function.code = spec, code
            function.version += 1
            retired, function.idle = function.idle, []
        _end([*retired, *(put_away.idle if put_away else ())])

    def unregister(self, name: str) -> None:
        """Remove a function; its running invocations continue to their end."""
        with self._lock:
            function = self._functions.pop(name, None)
            retired = function.idle if function else []
        _end(retired)

    def put_away(self, name: str) -> None:
        """Remove a function as if it had never been there; its warm environments wait for its next registration.

        Only of its first version: one that is registered for the first time has no other.
        """
        with self._lock:
            function = self._functions.get(name)
            if function is None or function.version > 1:
                retired = self._functions.pop(name).idle if function else []
            else:
                self._put_away[name] = self._functions.pop(name)
                oldest = list(self._put_away)[:-MOST_PUT_AWAY]
                retired = [environment for each in oldest for environment in self._put_away.pop(each).idle]
        _end(retired)

    def warm(self, name: str, environments: int) -> None:
        """Start environments of a function ahead of its invocations, until so many are idle."""
        with self._lock:
            function = self._functions[name]
            wanted = 0 if self._closed else environments - len(function.idle)
            started = [self._environment_of(function) for _ in range(wanted)]
            function.idle[:0] = started  # those that have run come first
            for each in started:
                each.start()

    def why_not_loaded(self, name: str) -> str | None:
        """Loads a function ahead of its invocations, unless it has been, or is at work as often as it may be.

        Why its code cannot be loaded, and what to do; None where it was.
        """
        with self._lock:
            known = self._functions.get(name)
            if known is None or known.loaded == known.version:
                return None
        key = str(uuid.uuid4())
        try:
            function, version, environment = self._take(name, None, key)
        except ClientError:
            return None
        try:
            failed = environment.load()
        finally:
            self._give_back(function, version, environment, key)
        return None if failed is None else not_loaded.told(function.spec, failed.payload)

    # ---- what happened ----

    @property
    def invocations(self) -> list[Invocation]:
        """Every invocation, oldest first."""
        return list(self._invocations.values())  # at once: for the lock one waits behind hundreds of invocations

    def logs(self, function: str) -> list[str]:
        """The last lines that a function printed; those of an invocation that has ended are there."""
        with self._lock:
            return list(self._functions[function].log) if function in self._functions else []

    def printed(self, request_id: str) -> list[str]:
        """The first lines that a function printed in an invocation."""
        with self._lock:
            return list(self._printed.get(request_id, ()))

    def reset(self) -> None:
        """Forget invocations and logs; end running invocations. Functions and warm environments stay."""
        self.end_running()
        with self._lock:
            self._invocations.clear()
            self._printed.clear()
            for function in self._functions.values():
                function.log.clear()

    def close(self) -> None:
        """End every process. Invocations that are running fail; there will be no others."""
        with self._lock:
            self._closed = True
            functions = [*self._functions.values(), *self._put_away.values()]
            retired = [environment for function in functions for environment in function.idle]
        _end(retired)
        self.end_running()

    def end_running(self) -> None:
        """End the invocations that are running; functions stay."""
        with self._quiet:
            for _, environment in self._busy.values():
                environment.abort()
            self._quiet.wait_for(lambda: not self._busy, SECONDS_TO_END)

    # ---- invoking ----

    def invoke(self, **parameters: Any) -> dict[str, Any]:
        """Invoke a function and wait for its end: the parameters and the answer of boto3's `invoke`.

        FunctionName (a name, name:alias, or an ARN), Payload (JSON as bytes or text), Qualifier (an alias,
        `$LATEST` or the number of the version), InvocationType (RequestResponse, or Event, which `asynchronously`
        takes); others are ignored. RequestId is that of an event which is tried again.

        Raises ClientError, as boto3 does: ResourceNotFoundException, TooManyRequestsException (over the function's
        concurrency), InvalidParameterValueException.
        What fails later is a FunctionError; its Payload says how.
        """
        name, qualifier = name_and_qualifier(parameters["FunctionName"], parameters.get("Qualifier"))
        payload = _payload(parameters.get("Payload"))
        invocation_type = parameters.get("InvocationType") or "RequestResponse"
        if invocation_type not in ("RequestResponse", "Event"):
            message = f"InvocationType {invocation_type} is not supported in the local cloud: use RequestResponse"
            raise client_error("InvalidParameterValueException", message, "Invoke", Type="User")
        event = json.loads(payload)
        if invocation_type == "Event":
            with self._lock:
                self._find(name, qualifier)
            self.asynchronously(function_arn(name, qualifier), payload)
            return {"StatusCode": 202, "Payload": io.BytesIO()}
        key = str(uuid.uuid4())
        request_id = parameters.get("RequestId") or key
        function, version, environment = self._take(name, qualifier, key)
        try:
            with self._lock:
                self._invocations[key] = Invocation(request_id, name, event, time.time(), None, "running")
            outcome = environment.run(request_id, payload, function_arn(name, qualifier))
            self._note(key, outcome)
        finally:
            self._give_back(function, version, environment, key)
        executed = LATEST if qualifier in (None, LATEST) else str(version)
        answer = {"StatusCode": 200, "ExecutedVersion": executed, "Payload": io.BytesIO(outcome.payload)}
        return answer if outcome.error is None else {**answer, "FunctionError": "Unhandled"}

    def _find(self, name: str, qualifier: str | None) -> _Function:
        function = None if self._closed else self._functions.get(name)
        if function is None or qualifier not in (None, LATEST, str(function.version), *function.spec.aliases):
            arn = function_arn(name, qualifier)
            reason = self.in_name_only.get(name)
            raise function_not_found(arn) if reason is None else FunctionNotRun(arn, reason)
        return function

    def _take(self, name: str, qualifier: str | None, key: str) -> tuple[_Function, int, Environment]:
        """A warm environment, or a new one; in a burst, whichever there can be first."""
        with self._quiet:
            function = self._find(name, qualifier)
            cap = function.spec.concurrency
            if cap is not None and self._at_work(function) >= cap:
                raise throttled()
            function.waiting += 1
            try:
                self._quiet.wait_for(lambda: self._closed or function.idle or self._starting() < MOST_STARTING)
            finally:
                function.waiting -= 1
            function = self._find(name, qualifier)
            dead = [environment for environment in function.idle if not environment.usable]
            function.idle = [environment for environment in function.idle if environment.usable]
            environment = function.idle.pop() if function.idle else self._environment_of(function)
            self._busy[key] = function, environment
            version = function.version
        _end(dead)
        return function, version, environment

    def _at_work(self, function: _Function) -> int:
        return function.waiting + sum(busy is function for busy, _ in self._busy.values())

    def _starting(self) -> int:
        return sum(environment.starting for _, environment in self._busy.values())

    def _one_began(self, function: _Function, version: int) -> None:
        with self._quiet:
            function.loaded = max(function.loaded, version)
            self._quiet.notify_all()

    def _environment_of(self, function: _Function) -> Environment:
        def on_line(line: str) -> None:
            with self._lock:
                function.log.append(line)
                busy = next((key for key, (_, each) in self._busy.items() if each is environment), "")
                invocation = self._invocations.get(busy)
                lines = self._printed.setdefault(invocation.request_id if invocation else busy, [])
                if len(lines) < LINES_OF_ONE:
                    lines.append(line)
            log(line)

        def log(line: str, is_mark: bool = False) -> None:
            if self._on_output is not None:
                self._on_output(LogLine(function.name, stream, line, is_mark, not environment.has_begun))

        stream = f"local/[{function.version}]{uuid.uuid4().hex}"
        key = self._keys.of_function(function.name, function.spec.role).environment
        variables = variables_of(function.name, str(function.version), function.spec, self._environment, key, stream)
        began = partial(self._one_began, function, function.version)
        environment = Environment(function.spec, variables, on_line, began, lambda mark: log(mark, True))
        return environment

    def _give_back(self, function: _Function, version: int, environment: Environment, key: str) -> None:
        with self._quiet:
            current = self._functions.get(function.name) is function and function.version == version
            keep = current and not self._closed and environment.usable and len(function.idle) < MOST_IDLE
            if keep:
                function.idle.append(environment)
        try:
            if not keep:
                environment.end()
        finally:
            with self._quiet:
                del self._busy[key]
                self._quiet.notify_all()

    def _note(self, key: str, outcome: Outcome) -> None:
        with self._lock:
            started = self._invocations.get(key)
            if started is not None:  # else forgotten by a reset
                told = outcome.error or "succeeded"
                ended = replace(started, ended_at=time.time(), outcome=told, is_started=outcome.is_started)
                self._invocations[key] = ended


def _not_here(function: str, _payload: bytes) -> None:
    message = f"InvocationType Event is not supported here: {function} has no queue"
    raise client_error("InvalidParameterValueException", message, "Invoke", Type="User")


def _payload(given: Any) -> bytes:
    """Bytes or text; nothing is an empty object, as on Lambda."""
    return (given.encode() if isinstance(given, str) else bytes(given or b"")) or b"{}"


def _end(environments: list[Environment]) -> None:
    for environment in environments:
        environment.abort()  # all at once, then wait for each
    for environment in environments:
        environment.end()
