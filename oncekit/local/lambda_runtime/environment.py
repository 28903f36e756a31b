"""One execution environment: a process that runs one invocation at a time, until it fails."""

from __future__ import annotations

import json
import math
import secrets
import signal
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from oncekit.local.lambda_runtime.process import FunctionProcess
from oncekit.local.lambda_runtime.runtime_api import Delivery, RuntimeApi
from oncekit.local.lambda_runtime.spec import FunctionSpec

INIT_SECONDS = 30.0
"""Lambda gives init 10 seconds, then runs it again within the function's timeout. A busy machine may need longer."""


@dataclass(frozen=True)
class Outcome:
    """How an invocation ended. `error` is the type of the error, None for success."""

    payload: bytes
    error: str | None = None


@dataclass(frozen=True)
class _End:
    """Why an environment is over, and what the invocation that it had is told; the wording is the service's."""

    error: str
    message: str

    def outcome(self, request_id: str) -> Outcome:
        body = {"errorType": self.error, "errorMessage": f"RequestId: {request_id} Error: {self.message}"}
        return Outcome(json.dumps(body).encode(), self.error)

    def line(self, request_id: str) -> str | None:
        """What Lambda adds to the function's log (V51); nothing of an end that the runtime client has logged itself."""
        match self.error:
            case "Sandbox.Timedout":
                return f"{request_id} {self.message}"
            case "Runtime.ExitError":
                return f"RequestId: {request_id} Error: {self.message}"
            case _:
                return None


class Environment:
    """The process is started by the first invocation. Ends by a timeout, an exit, an error during init, or `end`."""

    def __init__(
        self,
        spec: FunctionSpec,
        variables: Mapping[str, str],
        on_line: Callable[[str], None],
        on_begin: Callable[[], None] = lambda: None,
        on_mark: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._spec = spec
        self._variables = variables
        self._on_line = on_line
        self._on_begin = on_begin
        self._on_mark = on_mark
        self._marks = threading.Lock()
        self._marked, self._marked_at = "", 0.0
        self._begun = False
        self._state = threading.Condition()
        self._next: tuple[str, bytes, str] | None = None
        self._running: str | None = None
        self._deadline: float | None = None
        self._outcome: Outcome | None = None
        self._over: _End | None = None
        self._process: FunctionProcess | None = None
        self._api: RuntimeApi | None = None

    @property
    def usable(self) -> bool:
        """Whether it can run another invocation."""
        return self._over is None and (self._process is None or self._process.alive)

    @property
    def starting(self) -> bool:
        """Whether its process has not asked for its first event yet."""
        return not self._begun and self._over is None

    def start(self) -> None:
        """Start its process ahead of the first invocation."""
        with self._state:
            self._start()

    def run(self, request_id: str, payload: bytes, arn: str) -> Outcome:
        """Run one invocation to its end, or to the function's timeout, which ends the environment."""
        with self._state:
            self._next, self._running = (request_id, payload, arn), request_id
            self._deadline = self._outcome = None
            self._start()
            self._state.notify_all()
            self._wait_for_outcome()
            outcome = self._outcome or self._end_of(request_id)
            self._next = self._running = None
            process = self._process
        if not self.usable:
            self.end()
        elif process is not None:
            process.drain()
        self._mark_start(request_id)  # of one that never began, or was ended before it could
        if said := self._over and self._over.line(request_id):
            self._on_line(said)
        self._mark_end(request_id)
        return outcome

    def abort(self) -> None:
        """End the process, whatever it does, without waiting until it is gone."""
        with self._state:
            self._over = self._over or _exit(-signal.SIGKILL)
            self._state.notify_all()
            process = self._process
        if process is not None:
            process.kill()

    def end(self) -> None:
        """End the process, and wait until it is gone."""
        self.abort()
        with self._state:
            process, api, self._api = self._process, self._api, None
        if process is not None:
            process.wait()
        if api is not None:
            api.close()

    def _start(self) -> None:
        if self._process is not None or self._over is not None:
            return
        self._api = RuntimeApi(self)
        variables = {**self._variables, "AWS_LAMBDA_RUNTIME_API": self._api.address}
        try:
            self._process = FunctionProcess(self._spec.handler, self._spec.code, variables, self._on_line, self._exited)
        except OSError as error:  # the folder is gone, or the machine has no room for another process
            self._over = _End("Runtime.ExitError", f"Runtime could not be started: {error}")

    def _wait_for_outcome(self) -> None:
        """The time limit begins when the handler gets its event: init has a limit of its own."""
        self._state.wait_for(lambda: self._deadline is not None or self._finished(), INIT_SECONDS)
        if self._deadline is not None:
            self._state.wait_for(self._finished, self._deadline - time.monotonic())
        if not self._finished():
            self._over = _End("Sandbox.Timedout", f"Task timed out after {self._spec.timeout:.2f} seconds")

    def _finished(self) -> bool:
        return self._outcome is not None or self._over is not None

    def _end_of(self, request_id: str) -> Outcome:
        assert self._over is not None
        return self._over.outcome(request_id)

    def _exited(self, code: int) -> None:
        with self._state:
            self._over = self._over or _exit(code)
            self._state.notify_all()

    # ---- the marks in the log ----
    # "Start/End: these bookmark a single invocation, so every log line between these belongs to the same invocation"
    # (Lambda operator guide, "How CloudWatch structures logs"). The lock of the state is not held: whoever takes the
    # marks may ask the runtime, which ends environments under a lock of its own.

    def _mark_start(self, request_id: str) -> None:
        with self._marks:
            if self._marked == request_id:
                return
            self._marked, self._marked_at = request_id, time.monotonic()
            version = self._variables["AWS_LAMBDA_FUNCTION_VERSION"]
            self._on_mark(f"START RequestId: {request_id} Version: {version}")

    def _mark_end(self, request_id: str) -> None:
        """The report does not say how much memory was used: a process here has another size."""
        took = (time.monotonic() - self._marked_at) * 1000
        self._on_mark(f"END RequestId: {request_id}")
        self._on_mark(
            f"REPORT RequestId: {request_id}\tDuration: {took:.2f} ms\tBilled Duration: {math.ceil(took)} ms\t"
            f"Memory Size: {self._spec.memory} MB\t"
        )

    # ---- the runtime client's side ----

    def next_delivery(self) -> Delivery | None:
        self._begun = True
        self._on_begin()
        with self._state:
            self._state.wait_for(lambda: self._next is not None or self._over is not None)
            if self._next is None or self._over is not None:
                return None
            (request_id, payload, arn), self._next = self._next, None
            self._deadline = time.monotonic() + self._spec.timeout
            self._state.notify_all()
            process = self._process
        if process is not None:
            process.drain()  # what it printed during init, or after its last answer
        self._mark_start(request_id)
        return Delivery(request_id, payload, arn, time.time() + self._spec.timeout, _trace_id())

    def succeeded(self, request_id: str, result: bytes) -> bool:
        return self._report(request_id, Outcome(result))

    def failed(self, request_id: str, error: str, payload: bytes) -> bool:
        return self._report(request_id, Outcome(payload, error))

    def result_too_large(self, request_id: str, error: str, payload: bytes) -> None:
        """The client does not outlive the refusal of its result."""
        with self._state:
            if self._report(request_id, Outcome(payload, error)):
                self._over = _End(error, "")

    def init_failed(self, error: str, payload: bytes) -> None:
        with self._state:
            if self._running is not None:
                self._report(self._running, Outcome(payload, error))
            self._over = self._over or _End(error, "")

    def _report(self, request_id: str, outcome: Outcome) -> bool:
        with self._state:
            if request_id != self._running or self._finished():
                return False
            self._outcome = outcome
            self._state.notify_all()
            return True


def _exit(code: int) -> _End:
    """The end of a process by its return code; negative: the signal."""
    if code == 0:
        return _End("Runtime.ExitError", "Runtime exited without providing a reason")
    reason = f"exit status {code}" if code > 0 else f"signal: {(signal.strsignal(-code) or str(-code)).lower()}"
    return _End("Runtime.ExitError", f"Runtime exited with error: {reason}")


def _trace_id() -> str:
    root = f"1-{int(time.time()):08x}-{secrets.token_hex(12)}"
    return f"Root={root};Parent={secrets.token_hex(8)};Sampled=0"
