"""What entry.py is for Python: runs first in the process of a function of the Runtime `provided`, and starts its
executable `bootstrap`, which gets events from a Runtime API, and gives it results. That is here, on 127.0.0.1.

https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html

An invocation has one end, that of its own id; what else is posted is refused, with the status and the type of
https://github.com/aws/aws-lambda-runtime-interface-emulator (internal/lambda/rapi and internal/lambda/core/states.go).

This file is started as a script, without its package: nothing of `oncekit` is imported into a function's process.
"""

import contextlib
import json
import os
import re
import runpy
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

HOST = "127.0.0.1"
NAME = "bootstrap"
PLACE = re.compile(r"/2018-06-01/runtime/(?:invocation/([^/]+)/(response|error)|(init)/error|invocation/(next))")
Announce = Callable[[str, bytes], None]
Refusal = tuple[int, str, str]
"""Status, type and message."""
NO_TRANSITION: Refusal = (403, "InvalidStateTransition", "State transition is not allowed")


def executable(code: Path, layers: list[Path]) -> Path | None:
    """As Lambda looks for it: in the code, then in /opt."""
    return next((each / NAME for each in (code, *layers) if (each / NAME).is_file()), None)


def as_error(body: bytes, headers: Any) -> bytes:
    """An error with a type, whatever the runtime has sent."""
    try:
        told = json.loads(body or b"{}")
    except ValueError:
        told = {"errorMessage": body.decode(errors="replace")}
    if not isinstance(told, dict):
        told = {"errorMessage": json.dumps(told)}
    kind = told.get("errorType") or headers.get("Lambda-Runtime-Function-Error-Type") or "Runtime.Unknown"
    return json.dumps({**told, "errorType": str(kind)}).encode()


class Invocations:
    """The last event that was handed over, and whether it has no end yet; from several threads."""

    def __init__(self) -> None:
        self._id = ""
        self._is_open = False
        self._has_begun = False
        self._lock = threading.Lock()

    def is_first(self) -> bool:
        """Whether the bootstrap asks for an event for the first time."""
        with self._lock:
            has_begun, self._has_begun = self._has_begun, True
        return not has_begun

    def begin(self, id: str) -> None:
        with self._lock:
            self._id, self._is_open = id, True

    def end(self, id: str | None) -> Refusal | None:
        """Takes the end of an invocation; None for that of init. What is refused has no effect."""
        with self._lock:
            if id is None:
                return NO_TRANSITION if self._has_begun else None
            if id != self._id:
                return 400, "InvalidRequestID", "Invalid request ID"
            if not self._is_open:
                return NO_TRANSITION
            self._is_open = False
            return None


class RuntimeApi(BaseHTTPRequestHandler):
    """Answers the bootstrap; it asks for one event after the other."""

    protocol_version = "HTTP/1.1"
    parent: Any
    announce: Announce
    invocations = Invocations()

    def do_GET(self) -> None:
        place = PLACE.fullmatch(self.path)
        if place is None or not place[4]:
            self._reply(404, b"{}")
            return
        if self.invocations.is_first():
            self.parent.tell("ready")
        head, event = self.parent.next_event()
        self.invocations.begin(head["invoke_id"])
        type(self).announce("begin", event)
        self._reply(
            200,
            event,
            {
                "Lambda-Runtime-Aws-Request-Id": head["invoke_id"],
                "Lambda-Runtime-Deadline-Ms": str(head["deadline_time_in_ms"]),
                "Lambda-Runtime-Invoked-Function-Arn": head["invoked_function_arn"],
                "Lambda-Runtime-Trace-Id": head["x_amzn_trace_id"],
            },
        )

    def do_POST(self) -> None:
        body = self._body()
        place = PLACE.fullmatch(self.path)
        if place is None or place[4]:
            self._reply(404, b"{}")
            return
        if refusal := self.invocations.end(place[1]):
            status, kind, message = refusal
            self._reply(status, json.dumps({"errorMessage": message, "errorType": kind}).encode())
            return
        self._reply(202, b'{"status": "OK"}')
        if place[3]:
            self.parent.tell("init error", as_error(body, self.headers))
        elif place[2] == "error":
            self.parent.tell("error", as_error(body, self.headers))
        else:
            type(self).announce("end", body)
            self.parent.tell("result", body or b"null")

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        chunks = bytearray()
        while size := int(self.rfile.readline().split(b";")[0], 16):
            chunks += self.rfile.read(size)
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass  # trailers
        return bytes(chunks)

    def _reply(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Nothing: what is printed here is the function's log."""


def run(announce: Announce = lambda _what, _event: None) -> None:
    """Until the bootstrap ends. `announce` is told of the beginning and the end of each invocation."""
    RuntimeApi.parent = runpy.run_path(str(Path(__file__).with_name("entry.py")))["Parent"]()
    RuntimeApi.announce = staticmethod(announce)
    layers = [Path(each) for each in os.environ.pop("ONCE_LAYERS").split(os.pathsep) if each]
    program = executable(Path(os.environ["LAMBDA_TASK_ROOT"]), layers)
    server = ThreadingHTTPServer((HOST, 0), RuntimeApi)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    where = {"AWS_LAMBDA_RUNTIME_API": f"{HOST}:{server.server_address[1]}"}
    try:
        if program is None:
            raise FileNotFoundError("there is none")
        started = subprocess.Popen([str(program)], env={**os.environ, **where})  # noqa: S603  the function
    except OSError as error:
        told = {"errorType": "Runtime.InvalidEntrypoint", "errorMessage": f"{NAME}: {error.strerror or error}"}
        RuntimeApi.parent.tell("init error", json.dumps(told).encode())
        return
    code = started.wait()
    if code < 0:  # as it ended, so this ends
        with contextlib.suppress(OSError):  # SIGKILL has no handler
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    sys.exit(code)


if __name__ == "__main__":
    run()
