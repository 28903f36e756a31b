"""One execution environment: a process that runs one invocation at a time, until it fails."""

from __future__ import annotations

import hashlib
import json
import math
import secrets
import signal
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from oncekit.local.lambda_runtime.entry import Head
from oncekit.local.lambda_runtime.languages import PROVIDED, command_of, language
from oncekit.local.lambda_runtime.process import FunctionProcess
from oncekit.local.lambda_runtime.spec import FunctionSpec

INIT_SECONDS = 30.0
"""Lambda gives init 10 seconds, then runs it again within the function's timeout
(https://docs.aws.amazon.com/lambda/latest/dg/lambda-runtime-environment.html). A busy machine may need longer."""

MAX_RESPONSE_BYTES = 6_291_556
"""As the service's own error message has it: 100 bytes more than a request may have."""


@dataclass(frozen=True)
class Outcome:
    """How an invocation ended. `error` is the type of the error, None for success."""

    payload: bytes
    error: str | None = None
    is_started: bool = True
    """Whether the function was called: not if it could not be loaded."""


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
        if self.error == "Sandbox.Timedout":
            return f"{request_id} {self.message}"
        return f"RequestId: {request_id} Error: {self.message}" if self.error == "Runtime.ExitError" else None


class Environment:
    """The process is started by the first invocation. Ends by a timeout, an exit, an error during init, or `end`.

    `on_line` gets each line that the function prints, `on_mark` those by which Lambda marks an invocation, and
    `on_begin` is called when the process is ready for its first event.
    """

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
        self._marked_at: float | None = None
        self._begun = False
        self._starting = threading.Lock()
        self._over: _End | None = None
        self._process: FunctionProcess | None = None

    @property
    def usable(self) -> bool:
        """Whether it can run another invocation."""
        return self._over is None and (self._process is None or self._process.alive)

    @property
    def starting(self) -> bool:
        """Whether its process is not ready for its first event yet, as far as an invocation waits for it."""
        return not self._begun and self._over is None

    @property
    def has_begun(self) -> bool:
        """Whether its process has been ready for its first event."""
        return self._begun

    def start(self) -> None:
        """Start its process, ahead of the first invocation or for it."""
        with self._starting:
            if self._process is not None or self._over is not None:
                return
            command, code = command_of(self._spec), self._spec.code
            try:
                self._process = FunctionProcess(command, code, self._variables, self._on_line, self._exited)
            except OSError as error:  # the folder is gone, or the machine has no room for another process
                self._over = _End("Runtime.ExitError", f"Runtime could not be started: {error}")

    def run(self, request_id: str, payload: bytes, arn: str) -> Outcome:
        """Run one invocation to its end, or to the function's timeout, which ends the environment."""
        self._marked_at = None
        outcome = self.load(request_id) or self._outcome(request_id, payload, arn) or self._end_of(request_id)
        outcome = replace(outcome, is_started=self._begun)
        if not self.usable:
            self.end()
        elif self._process is not None:
            self._process.drain()
        if self._marked_at is None:  # one that never began
            self._mark_start(request_id)
        if said := self._over and self._over.line(request_id):
            self._on_line(said)
        self._mark_end(request_id)
        return outcome

    def load(self, request_id: str = "") -> Outcome | None:
        """Start its process, and wait until it is ready for its first event. What it came to instead, if it did."""
        self.start()
        if self._begun:
            return None
        process = self._process
        try:
            if process is None:
                return self._end_of(request_id)
            kind, error = process.receive(INIT_SECONDS)  # one that is gone already has said why
            if kind == "init error":
                return self._failed_in_init(error)
            if kind != "ready":
                self._not_understood(kind)
                return self._end_of(request_id)
        except TimeoutError:
            has_own = language(self._spec.runtime) == PROVIDED
            what = "bootstrap never asked for an event" if has_own else "the function's code did not finish loading"
            self._over = self._over or _End("Sandbox.Timedout", f"{what} in {INIT_SECONDS:g} s")
            return self._end_of(request_id)
        except EOFError:
            assert process is not None
            self._gone(process)
            return self._end_of(request_id)
        self._begun = True
        self._on_begin()
        return None

    def abort(self) -> None:
        """End the process, whatever it does, without waiting until it is gone."""
        with self._starting:
            self._over = self._over or _exit(-signal.SIGKILL)
        if self._process is not None:
            self._process.kill()

    def end(self) -> None:
        """End the process, and wait until it is gone."""
        self.abort()
        if self._process is not None:
            self._process.wait()

    def _outcome(self, request_id: str, payload: bytes, arn: str) -> Outcome | None:
        """What the function answers. None: its process is over, `_over` says why."""
        process = self._process
        if process is None or self._over is not None:
            return None
        try:
            process.drain()  # what it printed during init, or after its last answer
            self._mark_start(request_id)
            process.send(_head(request_id, arn, time.time() + self._spec.timeout), payload)
            kind, body = process.receive(self._spec.timeout)
        except TimeoutError:
            self._over = self._over or _End(
                "Sandbox.Timedout", f"Task timed out after {self._spec.timeout:.2f} seconds"
            )
            return None
        except EOFError:
            self._gone(process)
            return None
        if kind == "fatal":  # the function's process does not outlive it
            self._over = self._over or _End(_error_type(body), "")
        if kind in ("error", "fatal"):
            return Outcome(body, _error_type(body))
        if kind != "result":
            self._not_understood(kind)
            return None
        return Outcome(body) if len(body) <= MAX_RESPONSE_BYTES else self._too_large()

    def _gone(self, process: FunctionProcess) -> None:
        process.wait()
        self._over = self._over or _exit(-signal.SIGKILL)

    def _not_understood(self, kind: str) -> None:
        """What says neither that it is ready nor how an invocation ended is no answer: whatever follows is not sure."""
        self._over = self._over or _End("Runtime.Unknown", f"Runtime sent '{kind}', which is not expected here")

    def _failed_in_init(self, error: bytes) -> Outcome:
        kind = _error_type(error)
        self._over = self._over or _End(kind, "")
        return Outcome(error, kind)

    def _too_large(self) -> Outcome:
        """The runtime client does not outlive the refusal of its result."""
        kind = "Function.ResponseSizeTooLarge"
        message = f"Response payload size exceeded maximum allowed payload size ({MAX_RESPONSE_BYTES} bytes)."
        self._over = self._over or _End(kind, "")
        return Outcome(json.dumps({"errorMessage": message, "errorType": kind}).encode(), kind)

    def _end_of(self, request_id: str) -> Outcome:
        assert self._over is not None
        return self._over.outcome(request_id)

    def _exited(self, code: int) -> None:
        self._over = self._over or _exit(code)

    # ---- the marks in the log ----
    # "Start/End: these bookmark a single invocation, so every log line between these belongs to the same invocation"
    # (Lambda operator guide, "How CloudWatch structures logs").

    def _mark_start(self, request_id: str) -> None:
        self._marked_at = time.monotonic()
        version = self._variables["AWS_LAMBDA_FUNCTION_VERSION"]
        self._on_mark(f"START RequestId: {request_id} Version: {version}")

    def _mark_end(self, request_id: str) -> None:
        """The report does not say how much memory was used: a process here has another size."""
        took = (time.monotonic() - (self._marked_at or 0)) * 1000
        self._on_mark(f"END RequestId: {request_id}")
        self._on_mark(
            f"REPORT RequestId: {request_id}\tDuration: {took:.2f} ms\tBilled Duration: {math.ceil(took)} ms\t"
            f"Memory Size: {self._spec.memory} MB\t"
        )


def _head(request_id: str, arn: str, deadline: float) -> Head:
    """What the runtime client gets with an event; `deadline` in epoch seconds."""
    return {
        "invoke_id": request_id,
        "invoked_function_arn": arn,
        "deadline_time_in_ms": int(deadline * 1000),
        "x_amzn_trace_id": _trace_id(request_id),
    }


def _error_type(error: bytes) -> str:
    return str(json.loads(error)["errorType"]) or "Unknown"


def _exit(code: int) -> _End:
    """The end of a process by its return code; negative: the signal."""
    if code == 0:
        return _End("Runtime.ExitError", "Runtime exited without providing a reason")
    reason = f"exit status {code}" if code > 0 else f"signal: {(signal.strsignal(-code) or str(-code)).lower()}"
    return _End("Runtime.ExitError", f"Runtime exited with error: {reason}")


def trace_of(request_id: str) -> str:
    """In the trace of an invocation, which AWS's SDKs send with each of its calls: so one knows whose it is."""
    return hashlib.sha256(request_id.encode()).hexdigest()[:24]


def _trace_id(request_id: str) -> str:
    root = f"1-{int(time.time()):08x}-{trace_of(request_id)}"
    return f"Root={root};Parent={secrets.token_hex(8)};Sampled=0"
