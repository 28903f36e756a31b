"""The Lambda Runtime API (2018-06-01) of one execution environment, on a port of its own.

It has a port of its own: with a path prefix, the client could not report an error during the init phase.
"""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Protocol

from oncekit.local.request_rules import EVERY_SERVER, refusal

_PREFIX = "/2018-06-01/runtime/"
MAX_RESPONSE_BYTES = 6_291_556
"""As the service's own error message has it: 100 bytes more than a request may have."""


@dataclass(frozen=True)
class Delivery:
    """What `next` gives the runtime client. `deadline` in epoch seconds."""

    request_id: str
    payload: bytes
    arn: str
    deadline: float
    trace_id: str

    def headers(self) -> dict[str, str]:
        return {
            "Content-Type": "application/json",
            "Lambda-Runtime-Aws-Request-Id": self.request_id,
            "Lambda-Runtime-Deadline-Ms": str(int(self.deadline * 1000)),
            "Lambda-Runtime-Invoked-Function-Arn": self.arn,
            "Lambda-Runtime-Trace-Id": self.trace_id,
        }


class Invoker(Protocol):
    """The other side of the API."""

    def next_delivery(self) -> Delivery | None:
        """Wait for an invocation; None when the environment is over."""

    def succeeded(self, request_id: str, result: bytes) -> bool:
        """The handler has returned. False when that invocation is not running."""

    def failed(self, request_id: str, error: str, payload: bytes) -> bool:
        """The handler has raised. False when that invocation is not running."""

    def result_too_large(self, request_id: str, error: str, payload: bytes) -> None:
        """The handler has returned more than a response may have."""

    def init_failed(self, error: str, payload: bytes) -> None:
        """The handler could not be loaded."""


class RuntimeApi:
    """Serves the API until it is closed; `address` is the value of AWS_LAMBDA_RUNTIME_API."""

    def __init__(self, invoker: Invoker) -> None:
        self._server = _Server(invoker)
        threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 1.0}, name="runtime api", daemon=True
        ).start()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        """Stop serving, in the background: it takes as long as the server's poll interval."""
        threading.Thread(target=self._close, name="runtime api closing", daemon=True).start()

    def _close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, invoker: Invoker) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.invoker = invoker

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away in the middle is the end of a process, which is noticed elsewhere."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # With Nagle's algorithm each invocation takes 88 ms instead of one.
    disable_nagle_algorithm = True
    server: _Server

    def parse_request(self) -> bool:
        """Only the function's process: a page in a browser could take its events, and answer for it."""
        if not super().parse_request():
            return False
        environ = {f"HTTP_{name.upper().replace('-', '_')}": value for name, value in self.headers.items()}
        why = refusal(environ, EVERY_SERVER)
        if why is not None:
            self.close_connection = True  # its body is not read
            self.send_error(403, explain=why)
        return why is None

    def do_GET(self) -> None:
        if self.path != f"{_PREFIX}invocation/next":
            return self._status(404, "NotFound")
        delivery = self.server.invoker.next_delivery()
        if delivery is None:
            self.close_connection = True
            return None
        return self._answer(200, delivery.payload, delivery.headers())

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        match self.path.removeprefix(_PREFIX).split("/"):
            case ["init", "error"]:
                self.server.invoker.init_failed(_error_type(body), body)
                self._status(202)
            case ["invocation", request_id, "response"]:
                self._response(request_id, body)
            case ["invocation", request_id, "error"]:
                known = self.server.invoker.failed(request_id, _error_type(body), body)
                self._status(*((202,) if known else (400, "InvalidRequestID")))
            case _:
                self._status(404, "NotFound")

    def _response(self, request_id: str, result: bytes) -> None:
        if len(result) > MAX_RESPONSE_BYTES:
            error = "Function.ResponseSizeTooLarge"
            message = f"Response payload size exceeded maximum allowed payload size ({MAX_RESPONSE_BYTES} bytes)."
            payload = json.dumps({"errorMessage": message, "errorType": error}).encode()
            self.server.invoker.result_too_large(request_id, error, payload)
            return self._status(413, "RequestEntityTooLarge")
        known = self.server.invoker.succeeded(request_id, result)
        return self._status(*((202,) if known else (400, "InvalidRequestID")))

    def _status(self, status: int, error: str | None = None) -> None:
        body = {"status": "OK"} if error is None else {"errorType": error, "errorMessage": error}
        self._answer(status, json.dumps(body).encode(), {"Content-Type": "application/json"})

    def _answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


def _error_type(body: bytes) -> str:
    try:
        return str(json.loads(body)["errorType"]) or "Unknown"
    except (ValueError, KeyError, TypeError):
        return "Unknown"
