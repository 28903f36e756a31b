"""What functions send to other systems: whichever client they use, the test answers and counts it, or fails."""

from __future__ import annotations

import ipaddress
import json
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from once import JSON

from oncekit.local import LocalCloud
from oncekit.testing.kit_cloud import TestCloud
from oncekit.testing.outside import Sent, Unanswered
from oncekit.testing.plugin import RunMatrix

CHARGES = "https://api.provider.example/charges"
CLIENTS = Path(__file__).with_name("functions") / "clients"
OF_HTTP = [
    "by urllib",
    "by urllib3",
    "by requests",
    "by httpx",
    "by httpx async",
    "by aiohttp",
    "in chunks",
]


@contextmanager
def serving(server: socketserver.TCPServer) -> Iterator[int]:
    """The port of a server of the test."""
    with server:
        threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


def asked(client: str, url: str = CHARGES) -> dict[str, Any]:
    return {"operation": "clients", "idempotencyKey": client, "payload": {"client": client, "url": url}}


def in_one_attempt(client: str, url: str = CHARGES) -> dict[str, Any]:
    return {**asked(client, url), "onCrash": "quarantine"}


def line_in(function: str) -> str:
    return f"tests/testing/application/functions/clients/app.py:[0-9]+ in {function}"


@pytest.mark.parametrize(
    ("client", "scheme"),
    [*((client, "https") for client in OF_HTTP), ("by urllib", "http"), ("by a socket with tls", "https")],
)
def test_what_any_client_sends_is_answered_and_counted(application: TestCloud, client: str, scheme: str) -> None:
    url = f"{scheme}://api.provider.example/charges"
    application.outside.answer(url, {"id": "ch_7"})
    assert json.loads(application.run(asked(client, url)).output["result"]) == {"id": "ch_7"}
    [sent] = application.outside.sent
    assert (sent.method, sent.url, json.loads(sent.body)) == ("POST", url, {"amount": 7})


def test_each_request_over_one_connection_is_of_its_line(application: TestCloud) -> None:
    application.run(asked("over one connection"))
    first, second = application.outside.sent
    assert (first.url, second.url) == (f"{CHARGES}/first", f"{CHARGES}/second")
    assert first.line != second.line and "in over_one_connection" in first.line


# ---- what nobody answers ----


@pytest.mark.parametrize("client", ["by aiohttp", "whatever comes of it"])
def test_a_url_that_the_test_does_not_answer_fails_it(application: TestCloud, client: str) -> None:
    write = r'POST https://chat.example/send: write once_cloud.outside.answer\("https://chat.example/send", {...}\)'
    with pytest.raises(Unanswered, match=f"{line_in(client.replace(' ', '_'))}.*: {write}"):
        application.run(in_one_attempt(client, "https://chat.example/send"))


@pytest.mark.parametrize(
    ("client", "url", "line"),
    [
        ("by smtp", "smtp://smtp.example:587", "in by_smtp"),
        ("by a datagram", "udp://statistics.example:8125", "in by_a_datagram"),
        ("below socket", "https://192.0.2.7", "in below_socket"),
    ],
)
def test_what_is_no_http_is_refused_and_named(application: TestCloud, client: str, url: str, line: str) -> None:
    place = url.partition("://")[2]
    with pytest.raises(Unanswered, match=f"{line}.*: a connection to {place}.*start a server on 127.0.0.1"):
        application.run(in_one_attempt(client, url))


def test_a_client_that_trusts_no_other_certificate_is_named(application: TestCloud) -> None:
    with pytest.raises(Unanswered, match=r"api.provider.example:443: its client does not trust the test"):
        application.run(in_one_attempt("by a client of openssl"))


def test_a_name_is_not_asked_for(application: TestCloud) -> None:
    answer = application.run(asked("by name only", "https://no.such.host.example"))
    address, same, name = json.loads(answer.output["result"])
    assert ipaddress.ip_address(address) in ipaddress.ip_network("198.18.0.0/15") and address == same
    assert name == "no.such.host.example"


def test_the_next_test_gives_its_own_answers(application: TestCloud) -> None:
    with application.for_one_test(), pytest.raises(Unanswered):
        application.add_function("clients", CLIENTS)
        application.run(in_one_attempt("by urllib"))


def test_what_the_test_has_not_waited_for_fails_it_at_its_end(application: TestCloud) -> None:
    application.outside.forget()
    with pytest.raises(Unanswered, match=f"POST {CHARGES}"), application.for_one_test():
        application.add_function("clients", CLIENTS)
        application.start(in_one_attempt("by urllib"))
        LocalCloud.settle(application)


# ---- what answers ----


def test_an_answer_of_the_test_that_raises_fails_it(application: TestCloud, capsys: pytest.CaptureFixture[str]) -> None:
    def charged(sent: Sent) -> JSON:
        assert json.loads(sent.body)["amount"] == 8, "the wrong amount"
        return {"id": "ch_7"}

    application.outside.answer(CHARGES, charged)
    with pytest.raises(AssertionError, match="the wrong amount") as failed:
        application.finish(in_one_attempt("whatever comes of it"))
    assert failed.traceback[-1].name == "charged"
    assert not capsys.readouterr().err


def test_an_answer_that_is_not_json_fails_the_test(application: TestCloud) -> None:
    application.outside.answer(CHARGES, lambda _: {1, 2})  # type: ignore[arg-type, return-value]
    with pytest.raises(TypeError, match="set is not JSON serializable"):
        application.run(asked("whatever comes of it"))


DECLINED = {"error": "declined"}


@pytest.mark.parametrize("answer", [(DECLINED, 402), (lambda _: (DECLINED, 402),), (lambda _: DECLINED, 402)])
def test_what_a_provider_refuses_has_no_effect(application: TestCloud, answer: tuple[Any, ...]) -> None:
    application.outside.answer(CHARGES, *answer)
    application.run(asked("declined"))
    record = application.record("default#clients#declined") or {}
    assert record["error"] == {"name": "PermanentError", "message": "declined", "status": 402}
    assert [each.effect for each in application.outside.sent] == [False]


def test_a_key_whose_request_failed_is_used_again(application: TestCloud) -> None:
    answers = iter([({}, 500), {"id": "ch_7"}])
    application.outside.answer(CHARGES, lambda _: next(answers))
    application.finish(asked("with a key"))
    assert [each.effect for each in application.outside.sent] == [False, True]


# ---- servers of the test ----


def test_a_server_that_speaks_first_is_reached(application: TestCloud) -> None:
    class Greeter(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self.wfile.write(b"hello\n")
            self.wfile.write(self.rfile.readline().upper())

    with serving(socketserver.ThreadingTCPServer(("127.0.0.1", 0), Greeter)) as port:
        answer = application.run(asked("greeting", f"tcp://localhost:{port}"))
    assert json.loads(answer.output["result"]) == "HELLO\n"


def test_a_web_server_gets_what_is_sent_and_it_counts(application: TestCloud) -> None:
    class Echo(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(201)
            self.end_headers()
            self.wfile.write(json.dumps([self.path, json.loads(body)]).encode())

        def log_message(self, *_: Any) -> None:
            pass

    with serving(ThreadingHTTPServer(("127.0.0.1", 0), Echo)) as port:
        url = f"http://localhost:{port}/charges?at=once"
        answer = application.run(asked("in chunks", url))
    assert json.loads(answer.output["result"]) == ["/charges?at=once", {"amount": 7}]
    assert [(each.url, each.effect) for each in application.outside.sent] == [(url, True)]


def test_a_server_that_is_not_there_refuses(application: TestCloud) -> None:
    with socketserver.TCPServer(("127.0.0.1", 0), socketserver.BaseRequestHandler) as server:
        port = server.server_address[1]
    application.run(in_one_attempt("by requests", f"http://127.0.0.1:{port}/"))
    assert any("Connection refused" in each for each in application.logs("clients"))


# ---- the matrix ----


def test_a_matrix_strikes_what_any_client_sends(application: TestCloud, once_matrix: RunMatrix) -> None:
    report = once_matrix(asked("by aiohttp"), states=False, seconds=600, check=False)
    [found] = report.findings
    assert (found.kind, found.place, found.what) == ("twice", f"POST {CHARGES}", "2 instead of 1")
    assert {each.partition(" tests/")[0] for each in report.strikes} == {
        "the function dies at its beginning",
        "the function dies after",
        "the answer of",
        "another owner has finished before",
        "the service is unavailable at",
    }


def test_a_matrix_of_a_mail_by_smtp_is_not_green(application: TestCloud, once_matrix: RunMatrix) -> None:
    with pytest.raises(Unanswered, match=r"a connection to smtp\.example:587"):
        once_matrix(in_one_attempt("by smtp", "smtp://smtp.example:587"))
