"""One execution environment: a process with the real runtime client, and the Runtime API on a port of its own.

A port of its own, because a path prefix would break the client's report of an error during init.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections import deque
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from local.lambda_runtime.spec import FunctionSpec

ACCOUNT, REGION = "123456789012", "us-east-1"
# Lambda gives init 10 seconds; an import on a busy machine may take longer than on Lambda.
INIT_SECONDS = 30
_PREFIX = "/2018-06-01/runtime/"


@dataclass(frozen=True)
class Outcome:
    """How an invocation ended: the payload as bytes; `error` is its type, None for success."""

    payload: bytes
    error: str | None = None


@dataclass(frozen=True)
class _Work:
    request_id: str
    payload: bytes
    deadline: float
    arn: str


def function_arn(name: str) -> str:
    return f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{name}"


def _failed(error: str, message: str) -> Outcome:
    return Outcome(json.dumps({"errorMessage": message, "errorType": error}).encode(), error)


class Environment:
    """A process that runs one invocation at a time, for as long as it stays healthy."""

    def __init__(self, name: str, spec: FunctionSpec, shared: dict[str, str], log: deque[str]) -> None:
        self.name, self.spec = name, spec
        self.busy_since: float | None = None
        self._work: queue.Queue[_Work | None] = queue.Queue()
        self._outcomes: queue.Queue[Outcome] = queue.Queue()
        self._server = _RuntimeApi(self)
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.5}, daemon=True).start()
        self._process = subprocess.Popen(  # noqa: S603 our own interpreter
            [sys.executable, "-m", "awslambdaric", spec.handler],
            env=self._variables(shared),
            cwd=spec.code,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        threading.Thread(target=self._read_output, args=(log,), daemon=True).start()

    @property
    def healthy(self) -> bool:
        return self._process.poll() is None

    def run(self, request_id: str, payload: bytes) -> Outcome:
        """Run one invocation to its end, or to the function's timeout, which ends the process."""
        deadline = time.time() + self.spec.timeout
        self.busy_since = time.monotonic()
        self._work.put(_Work(request_id, payload, deadline, function_arn(self.name)))
        try:
            outcome = self._outcomes.get(timeout=self._time_left())
        except queue.Empty:
            self.close()
            seconds = f"{self.spec.timeout:.2f}"
            return _failed("Sandbox.Timedout", f"RequestId: {request_id} Error: Task timed out after {seconds} seconds")
        finally:
            self.busy_since = None
        if outcome.error == "Runtime.ExitError":
            return _failed(outcome.error, f"RequestId: {request_id} Error: {outcome.payload.decode()}")
        return outcome

    def kill(self) -> None:
        """A crash: the process is gone at once."""
        self._process.kill()

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self._work.put(None)
        threading.Thread(target=self._shut_server, daemon=True).start()

    def _shut_server(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _time_left(self) -> float:
        """The first invocation also waits for init, which has a limit of its own."""
        return self.spec.timeout + (0 if self._server.asked else INIT_SECONDS)

    def next_work(self) -> _Work | None:
        return self._work.get()

    def report(self, outcome: Outcome) -> None:
        self._outcomes.put(outcome)

    def _read_output(self, log: deque[str]) -> None:
        for line in self._process.stdout or ():
            log.append(line)
        code = self._process.wait()
        self.report(Outcome(f"Runtime exited with error: exit status {code}".encode(), "Runtime.ExitError"))

    def _variables(self, shared: dict[str, str]) -> dict[str, str]:
        paths = [self.spec.code, *self.spec.python_path]
        kept = {k: os.environ[k] for k in ("PATH", "HOME", "LANG", "VIRTUAL_ENV", "SYSTEMROOT") if k in os.environ}
        return {
            **kept,
            "AWS_LAMBDA_FUNCTION_NAME": self.name,
            "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(self.spec.memory),
            "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_EXECUTION_ENV": "AWS_Lambda_python3.13",
            "AWS_EC2_METADATA_DISABLED": "true",
            "LAMBDA_TASK_ROOT": str(self.spec.code),
            "_HANDLER": self.spec.handler,
            "TZ": ":UTC",
            "PYTHONPATH": os.pathsep.join(str(Path(p).resolve()) for p in paths),
            **shared,
            **self.spec.environment,
            "AWS_LAMBDA_RUNTIME_API": f"127.0.0.1:{self._server.server_address[1]}",
        }


class _RuntimeApi(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, environment: Environment) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.environment = environment
        self.asked = False


class _Handler(BaseHTTPRequestHandler):
    """The Runtime API as the runtime client speaks it."""

    protocol_version = "HTTP/1.1"
    # With Nagle's algorithm each invocation takes 88 ms instead of one.
    disable_nagle_algorithm = True
    server: _RuntimeApi

    def do_GET(self) -> None:
        self.server.asked = True
        work = self.server.environment.next_work()
        if work is None:
            self.close_connection = True
            return
        headers = {
            "Lambda-Runtime-Aws-Request-Id": work.request_id,
            "Lambda-Runtime-Deadline-Ms": str(int(work.deadline * 1000)),
            "Lambda-Runtime-Invoked-Function-Arn": work.arn,
            "Lambda-Runtime-Trace-Id": "Root=1-00000000-000000000000000000000000",
            "Content-Type": "application/json",
        }
        self._answer(200, work.payload, headers)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = self.path.removeprefix(_PREFIX)
        self._answer(202, b'{"status":"OK"}', {"Content-Type": "application/json"})
        if path.endswith("/response"):
            self.server.environment.report(Outcome(body))
        else:
            self.server.environment.report(Outcome(body, _error_type(body)))

    def _answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


def _error_type(body: bytes) -> str:
    try:
        return str(json.loads(body)["errorType"])
    except (ValueError, KeyError, TypeError):
        return "Unknown"
