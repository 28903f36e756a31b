"""The world outside AWS: what functions send to other systems comes here, and is answered as a test says.

Any client may send it: what it connects to another machine arrives in `connections.py`. What a test has given no answer
for is an error of the test, Unanswered, whatever the function makes of it; so is what an answer of the test raises.

What goes to a server on this machine, which the test itself may have started, is passed on to it. The rest is answered
here, as providers with idempotency keys do: the same key with the same request has no second effect; the same key with
another request is refused. Sources: Stripe, "Idempotent requests" (https://docs.stripe.com/api/idempotent_requests),
and IETF draft-ietf-httpapi-idempotency-key-header. What a test refuses has no effect, and leaves the key as it was.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import urlsplit

from oncekit.testing.connections import USUAL_PORTS, Answer, Connections, Place, Received, is_here
from oncekit.testing.watch import SAFE_METHODS, FunctionCall, Lost, Watch

if TYPE_CHECKING:
    from once import JSON

OF_ONE_CONNECTION = ("content-length", "connection", "accept-encoding", "transfer-encoding")
WITHOUT_BODY = (204, 304)
"""RFC 9110, 15.3.5 and 15.4.5."""
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


Given: TypeAlias = "JSON | Callable[[Sent], JSON | tuple[JSON, int]]"
"""What a test gives as an answer: JSON, or a function that makes it of what was Sent, alone or with its status."""


class Unanswered(AssertionError):
    """A function has sent something to another system, and the test does not say what that answers."""


class Outside:
    """The other systems. `answer` says what the ones whose URL begins so answer; without it, the test fails."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._answers: dict[str, tuple[Given, int]] = {}
        self.sent: list[Sent] = []
        self._known: dict[str, Sent] = {}
        self._unanswered: list[str] = []
        self._raised: list[BaseException] = []
        self._lock = threading.Lock()
        self._handshakes, self._shaken = 0, threading.Condition(self._lock)
        self._server = Connections(self)
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

    def forget(self) -> None:
        """Forget the answers, too: the next test gives its own."""
        self.clear()
        self._answers.clear()
        self._unanswered.clear()
        self._raised.clear()

    def answer(self, url: str, json: Given, status: int = 200) -> None:
        """What systems whose URL begins with `url` answer, and with which status of HTTP.

        A function that returns a tuple gives the status itself: `{"error": "declined"}, 402`. What it raises, `check`
        raises.
        """
        self._answers[url] = (json, status)

    def check(self) -> None:
        """Raises what an answer of the test has raised since the last check, or Unanswered for what has none."""
        with self._shaken:
            # Its client has given up before the server here has heard of it, and told so.
            self._shaken.wait_for(lambda: not self._handshakes, 1)
            told, self._unanswered = self._unanswered, []
            raised, self._raised = self._raised, []
        if raised:
            raise raised[0]
        if told:
            raise Unanswered("\n".join(dict.fromkeys(told)))

    # ---- connections ----

    def answers(self, place: Place) -> bool:
        """Whether a connection is taken. What uses the ports of HTTP is, so that an error can name the whole URL."""
        places = {_place_of(url) for url in self._answers}
        return place in places or place[1] in USUAL_PORTS.values()

    @contextmanager
    def handshake(self) -> Iterator[None]:
        """Around one: `check` waits for its end."""
        with self._shaken:
            self._handshakes += 1
        try:
            yield
        finally:
            with self._shaken:
                self._handshakes -= 1
                self._shaken.notify_all()

    def refused(self, told: str, place: Place, why: str = "") -> str:
        """A connection is not taken, or ends because of what came. Returns what the function is told."""
        name = "{}:{}".format(*place)
        another = (
            "it is another machine, and a test reaches none. What speaks HTTP is answered by "
            f'once_cloud.outside.answer("https://{name}/", {{...}}); for anything else, start a server on 127.0.0.1 '
            "in the test"
        )
        return self._not_answered(self._call(told), f"a connection to {name}: {why or another}")

    def announced(self, told: str) -> None:
        """A function has begun or ended. Raises Lost."""
        self._watch.passing(self._call(told), lambda: True)

    def answered(self, received: Received) -> Answer:
        """Raises Lost."""
        call = replace(self._call(received.told), service="http", action=received.method, parameters=received.url)
        answers: list[Answer] = []

        def make() -> bool:
            answers.append(self._provide(call, received))
            return answers[-1].status < 400

        self._watch.passing(call, make)
        return answers[-1]

    def _call(self, told: str) -> FunctionCall:
        return FunctionCall.of(told, self._watch.operation_of)

    def _provide(self, call: FunctionCall, received: Received) -> Answer:
        url, body = received.url, received.body.decode("utf-8", "surrogateescape")
        begins = [each for each in self._answers if url.startswith(each)]
        if not begins and not is_here(received.place):
            why = f'{call.action} {url}: write once_cloud.outside.answer("{url}", {{...}}) in the test'
            return Answer(501, json.dumps({"error": self._not_answered(call, why)}).encode())
        key = _key_of(call, received.headers, body)
        with self._lock:
            known = self._known.get(key) if key else None
            sent = Sent(call.action, url, received.headers, body, call.line, key, known is None)
            if key:
                self._known.setdefault(key, sent)
            self.sent.append(sent)
        if is_here(received.place):
            return _passed_on(received)
        if known is not None and (known.method, known.url, known.body) != (sent.method, sent.url, sent.body):
            return Answer(422, b'{"error": "this idempotency key was used with another request"}')
        answer = self._made(sent, *self._answers[max(begins, key=len)])
        if answer.status >= 400:
            self._had_no_effect(sent)
        return answer

    def _made(self, sent: Sent, given: Given, status: int) -> Answer:
        try:
            made = given(sent) if callable(given) else given
            body, status = made if isinstance(made, tuple) else (made, status)
            return Answer(status, json.dumps(body).encode() if status not in WITHOUT_BODY else b"")
        except BaseException as error:  # also what pytest.fail raises; `check` raises it in the thread of the test
            with self._lock:
                self._raised.append(error)
            return Answer(500, json.dumps({"error": f"the test's answer raised {error!r}"}).encode())

    def _had_no_effect(self, sent: Sent) -> None:
        with self._lock:
            self.sent[:] = [replace(each, effect=False) if each is sent else each for each in self.sent]
            if self._known.get(sent.key) is sent:
                del self._known[sent.key]

    def _not_answered(self, call: FunctionCall, what: str) -> str:
        told = f"{call.line or call.function}: {what}"
        with self._lock:
            self._unanswered.append(told)
        return told


def _place_of(url: str) -> Place:
    parts = urlsplit(url)
    return parts.hostname or "", parts.port or USUAL_PORTS.get(parts.scheme, 0)


def _passed_on(received: Received) -> Answer:
    connection = http.client.HTTPConnection(*received.place, timeout=30)
    kept = {name: value for name, value in received.headers.items() if name not in OF_ONE_CONNECTION}
    try:
        path = received.url.partition("://")[2].partition("/")[2]
        connection.request(received.method, f"/{path}", received.body, kept)
        answer = connection.getresponse()
        headers = [(name, value) for name, value in answer.getheaders() if name.lower() not in OF_ONE_CONNECTION]
        return Answer(answer.status, answer.read(), headers)
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
