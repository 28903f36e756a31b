"""Functions in Node.js: whichever client they use, the test answers and counts what they send, or fails."""

from __future__ import annotations

import json
import shutil
import socket
import socketserver
import threading
from typing import Any

import pytest

from oncekit.testing.kit_cloud import TestCloud
from oncekit.testing.outside import Unanswered
from oncekit.testing.plugin import RunMatrix

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="this machine has no Node.js")

HOST = "api.provider.example"


def asked(client: str, url: str = f"https://{HOST}/charges") -> dict[str, Any]:
    payload = {"client": client, "url": url}
    return {"operation": "node-clients", "idempotencyKey": "k", "onCrash": "quarantine", "payload": payload}


@pytest.mark.parametrize(
    ("client", "scheme"),
    [
        ("by fetch", "https"),
        ("by fetch", "http"),
        ("by https", "https"),
        ("by https", "http"),
        ("by an agent", "https"),
        ("by a looked up address", "http"),
        ("in a worker", "https"),
        ("in a process", "https"),
        ("in a process without an environment", "https"),
        ("in a process that is waited for", "https"),
        ("in another program", "http"),
    ],
)
def test_what_any_client_sends_is_answered_and_counted(application: TestCloud, client: str, scheme: str) -> None:
    url = f"{scheme}://{HOST}/charges"
    application.outside.answer(url, {"id": "ch_7"})
    ended = application.run(asked(client, url))
    assert ended.status == "SUCCEEDED", ended.why
    assert json.loads(ended.output["result"]) == {"id": "ch_7"}
    [sent] = application.outside.sent
    assert (sent.method, sent.url, json.loads(sent.body)) == ("POST", url, {"amount": 7})
    assert sent.line.startswith("tests/testing/application/functions/node-clients/")


@pytest.mark.parametrize(
    "client", ["by fetch", "by https", "whatever comes of it", "in a process", "in a process that is waited for"]
)
def test_a_url_that_the_test_does_not_answer_fails_it(application: TestCloud, client: str) -> None:
    with pytest.raises(Unanswered, match=r'write once_cloud\.outside\.answer\("https://other\.example/charges"'):
        application.run(asked(client, "https://other.example/charges"))


@pytest.mark.parametrize(
    ("client", "place"),
    [
        ("by a socket", "a connection to other.example:7000"),
        ("by a datagram", "a connection to statsd.example:8125"),
        ("by the name of a service", "a question about 203.0.113.1 to DNS"),
        ("by a name", "a question about provider.example to DNS"),
    ],
)
def test_a_connection_that_is_no_http_is_refused_and_fails_the_test(
    application: TestCloud, client: str, place: str
) -> None:
    with pytest.raises(Unanswered, match=f"{place}: it is another machine, and a test reaches none"):
        application.run(asked(client, "http://other.example:7000"))


def test_a_server_on_this_machine_is_reached_whatever_it_speaks(application: TestCloud) -> None:
    class Shout(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.sendall(self.request.recv(100).upper())

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Shout) as server:
        threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
        ended = application.run(asked("by a socket", f"http://127.0.0.1:{server.server_address[1]}"))
        server.shutdown()
    assert json.loads(ended.output["result"]) == "HELLO"


def test_a_datagram_to_this_machine_stays_here_whatever_looks_up_its_name(application: TestCloud) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        server.settimeout(20)
        application.run(asked("by a datagram with a lookup of its own", f"http://localhost:{server.getsockname()[1]}"))
        assert server.recv(100) == b"hello"


# ---- the matrix ----


def noting(**payload: Any) -> dict[str, Any]:
    return {"operation": "node-notes", "idempotencyKey": "k", "payload": payload}


@pytest.mark.parametrize(
    ("payload", "place", "what"),
    [
        ({"note": "another"}, "Notes", "the execution dies after ExecuteBusinessLogic"),
        (
            {"url": f"https://{HOST}/charges", "method": "POST"},
            f"POST https://{HOST}/charges",
            "the function dies after",
        ),
    ],
)
def test_an_effect_that_another_attempt_repeats_is_found(
    application: TestCloud, once_matrix: RunMatrix, payload: dict[str, str], place: str, what: str
) -> None:
    report = once_matrix(noting(**payload), check=False)
    [found] = report.findings
    assert (found.kind, found.place) == ("twice", place)
    assert any(each.startswith(what) for each in found.strikes)


@pytest.mark.parametrize("payload", [{"note": "the same"}, {}])
def test_a_matrix_that_does_not_see_what_a_function_calls_is_not_green(
    application: TestCloud, once_matrix: RunMatrix, payload: dict[str, str]
) -> None:
    with pytest.raises(
        pytest.skip.Exception, match=r"nothing found[^✗]*not seen: it is in Node\.js, and what it calls of AWS"
    ):
        once_matrix(noting(**payload))
