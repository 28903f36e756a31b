"""The Lambda service of the local cloud: functions by name, warm environments, throttling, the shapes of boto3."""

from __future__ import annotations

import io
import json
import threading
import time
import uuid
from collections import defaultdict, deque
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from botocore.exceptions import ClientError

from local.lambda_runtime.environment import Environment, Outcome, function_arn
from local.lambda_runtime.spec import FunctionSpec, Invocation

ALIASES = ("live", "$LATEST")
MAX_PAYLOAD_BYTES = 6 * 1024 * 1024
LOG_LINES = 2000


def _refused(code: str, message: str, status: int) -> ClientError:
    response = {"Error": {"Code": code, "Message": message}, "ResponseMetadata": {"HTTPStatusCode": status, "RequestId": "local"}}
    return ClientError(response, "Invoke")  # type: ignore[arg-type]  # botocore's stubs want more metadata


def name_and_qualifier(function: str, qualifier: str | None) -> tuple[str, str]:
    """The name and alias out of a name, `name:alias`, or an ARN with or without an alias."""
    parts = function.split(":")
    if parts[0] == "arn":
        parts = parts[6:]
    return parts[0], qualifier or (parts[1] if len(parts) > 1 else "$LATEST")


class LambdaRuntime:
    """Runs registered functions in processes of their own and remembers every invocation.

    `environment` is given to every function: endpoint, region, credentials.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = dict(environment)
        self._specs: dict[str, FunctionSpec] = {}
        self._idle: dict[str, list[Environment]] = defaultdict(list)
        self._busy: dict[str, set[Environment]] = defaultdict(set)
        self._logs: dict[str, deque[str]] = defaultdict(lambda: deque(maxlen=LOG_LINES))
        self._invocations: list[Invocation] = []
        self._lock = threading.RLock()

    @property
    def functions(self) -> Mapping[str, FunctionSpec]:
        return dict(self._specs)

    @property
    def invocations(self) -> list[Invocation]:
        with self._lock:
            return list(self._invocations)

    def register(self, name: str, spec: FunctionSpec) -> None:
        """Add or replace a function; environments of the old code are not used again."""
        with self._lock:
            self._specs[name] = spec
            retired = self._idle.pop(name, [])
        for environment in retired:
            environment.close()

    def unregister(self, name: str) -> None:
        with self._lock:
            self._specs.pop(name, None)
            retired = self._idle.pop(name, [])
        for environment in retired:
            environment.close()

    def logs(self, name: str) -> list[str]:
        """What the function has printed, the last lines of it."""
        return list(self._logs[name])

    def invoke(self, *, FunctionName: str, Payload: bytes | str = b"{}", Qualifier: str | None = None, **_: Any) -> dict[str, Any]:  # noqa: N803 boto3's names
        """Invoke and wait. Raises ClientError as the service does: unknown function, throttled, too large."""
        name, qualifier = name_and_qualifier(FunctionName, Qualifier)
        payload = Payload.encode() if isinstance(Payload, str) else bytes(Payload)
        if len(payload) > MAX_PAYLOAD_BYTES:
            raise _refused("RequestTooLargeException", f"{len(payload)} bytes exceed the limit of {MAX_PAYLOAD_BYTES}", 413)
        environment = self._take(name, qualifier)
        invocation = Invocation(str(uuid.uuid4()), name, json.loads(payload or b"{}"), time.time(), None, "running")
        with self._lock:
            self._invocations.append(invocation)
        outcome = environment.run(invocation.request_id, payload)
        if len(outcome.payload) > MAX_PAYLOAD_BYTES:
            message = f"Response payload size exceeded maximum allowed payload size ({MAX_PAYLOAD_BYTES} bytes)."
            body = {"errorType": "Function.ResponseSizeTooLarge", "errorMessage": message}
            outcome = Outcome(json.dumps(body).encode(), "Function.ResponseSizeTooLarge")
        self._give_back(name, environment)
        self._note(invocation, outcome)
        answer = {"StatusCode": 200, "ExecutedVersion": "1", "Payload": io.BytesIO(outcome.payload)}
        return answer if outcome.error is None else {**answer, "FunctionError": "Unhandled"}

    def kill(self, name: str) -> int:
        """Crash the environments that now run an invocation of the function; how many there were."""
        with self._lock:
            running = list(self._busy[name])
        for environment in running:
            environment.kill()
        return len(running)

    def reset(self) -> None:
        """Forget invocations; end what still runs; keep functions and warm environments."""
        with self._lock:
            self._invocations.clear()
            running = [e for group in self._busy.values() for e in group]
        for environment in running:
            environment.kill()

    def close(self) -> None:
        with self._lock:
            everything = [e for group in (*self._idle.values(), *self._busy.values()) for e in group]
            self._idle.clear()
        for environment in everything:
            environment.close()

    def _take(self, name: str, qualifier: str) -> Environment:
        with self._lock:
            spec = self._specs.get(name)
            if spec is None or qualifier not in ALIASES:
                raise _refused("ResourceNotFoundException", f"Function not found: {function_arn(name)}:{qualifier}", 404)
            if spec.concurrency is not None and len(self._busy[name]) >= spec.concurrency:
                raise _refused("TooManyRequestsException", "Rate Exceeded.", 429)
            while self._idle[name]:
                environment = self._idle[name].pop()
                if environment.healthy:
                    break
            else:
                environment = Environment(name, spec, self._environment, self._logs[name])
            self._busy[name].add(environment)
            return environment

    def _give_back(self, name: str, environment: Environment) -> None:
        with self._lock:
            self._busy[name].discard(environment)
            keep = environment.healthy and self._specs.get(name) is environment.spec
            if keep:
                self._idle[name].append(environment)
        if not keep:
            environment.close()

    def _note(self, invocation: Invocation, outcome: Outcome) -> None:
        ended = replace(invocation, ended_at=time.time(), outcome=outcome.error or "succeeded")
        with self._lock:
            if invocation in self._invocations:
                self._invocations[self._invocations.index(invocation)] = ended
