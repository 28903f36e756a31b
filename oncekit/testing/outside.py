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
import io
import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import urlsplit

from werkzeug.middleware.http_proxy import ProxyMiddleware
from werkzeug.wrappers import Request, Response

from oncekit.local.endpoint.loopback import Loopback
from oncekit.testing.connections import PLACE, URL, USUAL_PORTS, Connection, Place, announced, is_here, place_of
from oncekit.testing.watch import LOST, SAFE_METHODS, FunctionCall, Watch

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment
    from once import JSON

TOLD = "HTTP_X_ONCE_CALL"
LEAST_OF_A_KEY = 16
"""Characters of a key that a request must carry: some providers take shorter ones than `provider_key` gives."""

OPENING_SECONDS = 5
"""For how long a check waits, at most, for connections that have only begun."""


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
        self._opened = threading.Condition(self._lock)
        self._opening = 0
        self._server = Loopback(0, Connection)
        self._server.open(self)

    @property
    def address(self) -> str:
        return self._server.url.removeprefix("http://")

    def close(self) -> None:
        self._server.close()

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
        with self._opened:
            self._opened.wait_for(lambda: not self._opening, OPENING_SECONDS)
            told, self._unanswered = self._unanswered, []
            raised, self._raised = self._raised, []
        if raised:
            raise raised[0]
        if told:
            raise Unanswered("\n".join(dict.fromkeys(told)))

    # ---- connections ----

    @contextmanager
    def opening(self) -> Iterator[None]:
        """While a connection begins: a function may have ended before it is known here why its connection failed."""
        with self._opened:
            self._opening += 1
        try:
            yield
        finally:
            with self._opened:
                self._opening -= 1
                self._opened.notify_all()

    def answers(self, place: Place) -> bool:
        """Whether a connection is taken. What uses the ports of HTTP is, so that an error can name the whole URL."""
        places = {_place_of(url) for url in self._answers}
        return place in places or place[1] in USUAL_PORTS.values()

    def refused(self, told: str, place: Place, why: str = "") -> str:
        """A connection is not taken, or ends because of what came. Returns what the function is told."""
        name = "{}:{}".format(*place)
        none = "it is another machine, and a test reaches none. What speaks HTTP"
        if not place[1]:  # it was not to be connected to, but looked up in the network
            asks = f"a question about {place[0]} to DNS: {none} connects by the name, and"
            return self._not_answered(
                self._call(told), f"{asks} is answered by once_cloud.outside.answer(URL, {{...}})"
            )
        another = (
            f'{none} is answered by once_cloud.outside.answer("https://{name}/", {{...}}); for anything else, start a '
            "server on 127.0.0.1 in the test"
        )
        return self._not_answered(self._call(told), f"a connection to {name}: {why or another}")

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """What functions send, and what the kit's part in their processes does."""
        if PLACE not in environ:
            answer = self._of_the_kit(environ)
        else:
            call = replace(self._call(environ[TOLD]), action=environ["REQUEST_METHOD"], parameters=environ[URL])
            answer = self._watched(call, partial(self._provide, call), environ)
        return answer(environ, start_response)

    def _of_the_kit(self, environ: WSGIEnvironment) -> Response:
        """It asks for a certificate, opens or has refused a connection, or announces that a function begins or ends."""
        what, _, value = environ["PATH_INFO"].strip("/").partition("/")
        if what == "open":
            return self._opened_for(environ[TOLD], place_of(value))
        if what == "certificate":
            from oncekit.testing.certificates import certificate

            return Response(certificate(value))
        if what == "refused":
            return Response(self.refused(environ[TOLD], place_of(value)))
        return self._watched(self._call(environ[TOLD]), Response(), environ)

    def _opened_for(self, told: str, place: Place) -> Response:
        if not is_here(place) and not self.answers(place):
            return Response(self.refused(told, place), 403)
        from oncekit.testing.certificates import certificate

        return _json(
            {
                "port": announced(self._server, self, place, told),
                "certificate": certificate(place[0]).decode(),
            },
            200,
        )

    def _call(self, told: str) -> FunctionCall:
        return FunctionCall.of(told, self._watch.operations_of)

    def _watched(self, call: FunctionCall, application: WSGIApplication, environ: WSGIEnvironment) -> Response:
        """Its answer. Raises ConnectionError when the function must not get it."""
        answer = Response.from_app(self._watch.watched(call, application), environ, buffered=True)
        if LOST in answer.headers:
            raise ConnectionAbortedError
        return answer

    def _provide(self, call: FunctionCall, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        request, url, here = Request(environ), environ[URL], is_here(environ[PLACE])
        body = request.get_data()
        begins = [each for each in self._answers if url.startswith(each)]
        if not begins and not here:
            why = f'{call.action} {url}: write once_cloud.outside.answer("{url}", {{...}}) in the test'
            return _json({"error": self._not_answered(call, why)}, 501)(environ, start_response)
        headers = {name.lower(): value for name, value in request.headers.items()}
        sent, known = self._noted(call, headers, body.decode("utf-8", "surrogateescape"))
        if here:
            environ |= {"wsgi.input": io.BytesIO(body), "CONTENT_LENGTH": str(len(body))}
            return _server_at(environ[PLACE], environ["PATH_INFO"])(environ, start_response)
        if known is not None and (known.method, known.url, known.body) != (sent.method, sent.url, sent.body):
            answer = _json({"error": "this idempotency key was used with another request"}, 422)
        else:
            answer = self._made(sent, *self._answers[max(begins, key=len)])
            if answer.status_code >= 400:
                self._had_no_effect(sent)
        return answer(environ, start_response)

    def _noted(self, call: FunctionCall, headers: Mapping[str, str], body: str) -> tuple[Sent, Sent | None]:
        """What is sent, and what was sent with the same key before."""
        key = _key_of(call, headers, body)
        with self._lock:
            known = self._known.get(key) if key else None
            sent = Sent(call.action, call.parameters, headers, body, call.line, key, known is None)
            if key:
                self._known.setdefault(key, sent)
            self.sent.append(sent)
        return sent, known

    def _made(self, sent: Sent, given: Given, status: int) -> Response:
        try:
            made = given(sent) if callable(given) else given
            return _json(*made) if isinstance(made, tuple) else _json(made, status)
        except BaseException as error:  # also what pytest.fail raises; `check` raises it in the thread of the test
            with self._lock:
                self._raised.append(error)
            return _json({"error": f"the test's answer raised {error!r}"}, 500)

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


def _server_at(place: Place, path: str) -> WSGIApplication:
    target: dict[str, Any] = {
        "target": "http://{}:{}/".format(*place),
        "host": None,
        "headers": {},
        "remove_prefix": False,
    }
    return ProxyMiddleware(Response(), {}).proxy_to(target, path, "")


def _json(value: object, status: int) -> Response:
    return Response(json.dumps(value), status, mimetype="application/json")


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
