"""The world outside AWS: what functions send by HTTP to other systems comes here, and is answered as a test says.

What goes to a server on this machine, which the test itself may have started, is passed on to it. The rest is answered
here, as providers with idempotency keys do: the same key with the same request gets the first answer and has no second
effect; the same key with another request is refused. Sources: Stripe, "Idempotent requests"
(https://docs.stripe.com/api/idempotent_requests), and IETF draft-ietf-httpapi-idempotency-key-header.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from oncekit.testing.watch import CALL, SAFE_METHODS, FunctionCall, Lost, Watch

NOT_PASSED_ON = ("host", "content-length", "connection", "accept-encoding", "transfer-encoding", CALL.lower())
LEAST_OF_A_KEY = 16
"""Characters of a key that a request must carry: some providers take shorter ones than `provider_key` gives."""


@dataclass(frozen=True)
class Sent:
    """A request that a function has sent to another system, and whether it took effect."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: str
    line: str
    key: str
    """By which the provider knows it again; empty when it cannot."""
    effect: bool


@dataclass(frozen=True)
class Answer:
    """What a system answers."""

    status: int
    content: bytes
    kind: str = "application/json"


class Outside:
    """The other systems. `answer` says what the ones whose URL begins so answer; without it, an empty object."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._answers: dict[str, Any] = {}
        self.sent: list[Sent] = []
        self._known: dict[str, Sent] = {}
        self._lock = threading.Lock()
        outside = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def __getattr__(self, name: str) -> Any:
                if name.startswith("do_"):  # any method of HTTP
                    return lambda: outside._take(self)
                raise AttributeError(name)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def clear(self) -> None:
        """Forget what was sent; answers stay."""
        with self._lock:
            self.sent.clear()
            self._known.clear()

    def answer(self, url: str, json: Any) -> None:
        """What systems whose URL begins with `url` answer: JSON, or a function that makes it of what was Sent."""
        self._answers[url] = json

    # ---- requests ----

    def _take(self, handler: BaseHTTPRequestHandler) -> None:
        body = handler.rfile.read(int(handler.headers.get("Content-Length") or 0)).decode("utf-8", "surrogateescape")
        told = handler.headers.get(CALL)
        if told is None:
            handler.send_error(403)
            return
        call = FunctionCall.of(told, self._watch.operation_of)
        answers = [Answer(200, b"{}")]

        def make() -> bool:
            if call.service == "http":
                answers.append(self._provide(call, {k.lower(): v for k, v in handler.headers.items()}, body))
            return answers[-1].status < 400

        try:
            self._watch.passing(call, make)
        except Lost:
            handler.close_connection = True
            return
        answer = answers[-1]
        handler.send_response(answer.status)
        handler.send_header("Content-Type", answer.kind)
        handler.send_header("Content-Length", str(len(answer.content)))
        handler.end_headers()
        handler.wfile.write(b"" if handler.command == "HEAD" else answer.content)

    def _provide(self, call: FunctionCall, headers: Mapping[str, str], body: str) -> Answer:
        key = _key_of(call, headers, body)
        with self._lock:
            known = self._known.get(key) if key else None
            sent = Sent(call.action, str(call.parameters), headers, body, call.line, key, known is None)
            if key:
                self._known.setdefault(key, sent)
            self.sent.append(sent)
        if _is_here(sent.url):
            return _passed_on(sent)
        if known is not None and (known.method, known.url, known.body) != (sent.method, sent.url, sent.body):
            return Answer(422, b'{"error": "this idempotency key was used with another request"}')
        begins = [each for each in self._answers if sent.url.startswith(each)]
        answer = self._answers[max(begins, key=len)] if begins else {}
        return Answer(200, json.dumps(answer(sent) if callable(answer) else answer).encode())


def _is_here(url: str) -> bool:
    return re.fullmatch(r"127\..*|localhost|::1", urlsplit(url).hostname or "") is not None


def _passed_on(sent: Sent) -> Answer:
    parts = urlsplit(sent.url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port or 80, timeout=30)
    kept = {name: value for name, value in sent.headers.items() if name not in NOT_PASSED_ON}
    try:
        path = sent.url.partition(parts.netloc)[2] or "/"
        connection.request(sent.method, path, sent.body.encode("utf-8", "surrogateescape"), kept)
        answer = connection.getresponse()
        return Answer(answer.status, answer.read(), answer.headers.get("Content-Type", "application/json"))
    except OSError as error:
        raise Lost from error
    finally:
        connection.close()


def _key_of(call: FunctionCall, headers: Mapping[str, str], body: str) -> str:
    """By what the provider knows the request again."""
    if call.action in SAFE_METHODS:
        return ""
    for name, value in headers.items():
        if "idempoten" in name:
            return f"{name}: {value}"
    whole = f"{call.action} {call.parameters} {body}"
    carried = [key[:LEAST_OF_A_KEY] for key in call.keys if key[:LEAST_OF_A_KEY] in f"{whole} {list(headers.values())}"]
    if carried:
        return f"{call.action} {call.parameters} {carried[0]}"
    # RFC 9110, 9.2.2: several identical requests with these methods have the effect of one.
    return hashlib.sha256(whole.encode()).hexdigest() if call.action in ("PUT", "DELETE") else ""
