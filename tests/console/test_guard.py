"""Who is let in to the console, and what a page of it may do: a test for each rule."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from http_client import Client
from scenario import charge
from visitor import HERE, PORT, Visitor, record_at, run_at

from oncekit.cli.here.console import LocalActions
from oncekit.console.local_source import LocalSource
from oncekit.console.pages import FOLDER
from oncekit.console.server.serving import ConsoleServer
from oncekit.local import LocalCloud

EVIL = "\"'><script>alert(1)</script>&\x1b]0;x\x07\u202e"


def test_every_value_is_text_on_every_page(cloud: LocalCloud, visitor: Visitor) -> None:
    request = {**charge(EVIL), "payload": {EVIL: EVIL}}
    ended = cloud.run(request)
    refused = cloud.run({"operation": EVIL})
    cloud.run({**charge("q"), "operation": "ask-somebody", "payload": {EVIL: EVIL}})
    pages = ["/", f"/?text={EVIL}", run_at(ended.arn), run_at(refused.arn), record_at(f"acme#charge-payment#{EVIL}")]
    pages += [f"/body{run_at(ended.arn)}", f"/events/{ended.arn}", f"/visit/1/{ended.arn}", f"/further/{ended.arn}"]
    pages += [f"/beside?one={ended.arn}&other={refused.arn}", "/calls", "/waiting", f"/waiting?done={EVIL}"]
    Client(cloud).send("POST", "/operations/x", "{}", Idempotency_Key="<script>alert(1)</script>", Content_Type="a/b")
    for page in [*pages, record_at("acme#ask-somebody#q"), f"/no-such-page/{EVIL}", "/start"]:
        text = visitor.get(page).text
        assert "<script>alert" not in text and "\x1b" not in text and "\u202e" not in text, page
    shown = [visitor.get(page).text for page in ("/", "/calls", run_at(ended.arn))]
    assert all("&lt;script&gt;alert(1)&lt;/script&gt;" in text for text in shown)


def test_a_page_may_load_and_run_nothing_but_its_own_files(visitor: Visitor) -> None:
    for page in ("/", "/rows", "/start", "/console.js", "/no-such-page"):
        headers = visitor.get(page).headers
        policy = dict(each.split(" ", 1) for each in headers["Content-Security-Policy"].split("; "))
        assert policy["default-src"] == "'none'" and policy["script-src"] == policy["style-src"] == "'self'"
        assert policy["frame-ancestors"] == policy["base-uri"] == "'none'" and "unsafe" not in str(policy)
        assert headers["X-Content-Type-Options"] == "nosniff" and headers["Cache-Control"] == "no-store"
        assert "Access-Control-Allow-Origin" not in headers


def test_no_page_has_a_script_a_style_or_a_handler_within_it_and_none_names_another_host() -> None:
    for file in FOLDER.glob("*.*"):
        text = file.read_text("utf-8")
        if file.suffix == ".html" and file.name not in ("export.html", "over.html"):
            assert "<style" not in text and "style=" not in text and " on" + "click" not in text and "|safe" not in text
            assert text.count("<script") == text.count('<script src="/console.js"'), file.name
        assert ("https://" not in text and "http://www.w3.org/" in text) or "http://" not in text, file.name
    assert (FOLDER / "console.js").stat().st_size <= 60_000


@pytest.mark.parametrize("host", ["evil.example", "evil.example:4600", "127.0.0.1.evil.example", ""])
def test_a_name_that_leads_here_and_is_none_of_this_machines_gets_no_answer(visitor: Visitor, host: str) -> None:
    answer = visitor.client.get("/", base_url=HERE, headers={"Host": host})
    assert answer.status_code == 403 and "names of this machine" in answer.text


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "script"},
        {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Dest": "iframe"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "empty"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": f"http://127.0.0.1:{PORT + 1}"},
    ],
)
def test_what_another_site_sends_is_refused(visitor: Visitor, headers: dict[str, str]) -> None:
    assert visitor.get("/", **headers).status_code == 403


def test_a_link_from_elsewhere_that_somebody_follows_is_let_in(visitor: Visitor) -> None:
    followed = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "document", "Sec-Fetch-Mode": "navigate"}
    assert visitor.get("/", **followed).status_code == 200


def test_without_the_key_nobody_sees_anything(visitor: Visitor) -> None:
    visitor.client.delete_cookie(visitor.guard.cookie, domain="127.0.0.1")
    more = ("/calls", "/beside", "/result/a%23b%23c", "/further/a:b", "/steps/a:b")
    for page in ("/", "/rows", "/start", "/console.js", "/changes", "/?key=guessed", *more):
        answer = visitor.get(page)
        assert answer.status_code == 403 and visitor.guard.token not in answer.text


def test_the_key_becomes_a_cookie_that_no_script_reads_and_leaves_the_address(visitor: Visitor) -> None:
    visitor.client.delete_cookie(visitor.guard.cookie, domain="127.0.0.1")
    answer = visitor.get(f"/?key={visitor.guard.key}")
    assert (answer.status_code, answer.headers["Location"]) == (303, "/")
    cookie = answer.headers["Set-Cookie"]
    assert f"{visitor.guard.cookie}={visitor.guard.key}" in cookie and "HttpOnly" in cookie and "SameSite=Lax" in cookie
    assert visitor.get("/").status_code == 200


@pytest.mark.parametrize("token", ["", "guessed"])
@pytest.mark.parametrize(
    "path",
    [
        "/start",
        "/advance",
        "/replay",
        "/discard",
        "/stop/a:b",
        "/go-on",
        "/act/retry/a%23b%23c",
        "/act/release/a%23b%23c",
        "/act/resolve/a%23b%23c",
    ],
)
def test_nothing_is_changed_without_the_token_of_the_page(visitor: Visitor, path: str, token: str) -> None:
    assert visitor.post(path, {"request": "{}"}, token=token).status_code == 403
    assert visitor.get("/rows").text.count("data-arn") == 0


def test_nothing_is_changed_by_following_a_link(visitor: Visitor) -> None:
    assert visitor.get(f"/act/retry/a%23b%23c?token={visitor.guard.token}").status_code == 405


def test_a_console_that_only_shows_has_no_actions(cloud: LocalCloud, source: LocalSource) -> None:
    source.read_only = True
    reader = Visitor(source, LocalActions(cloud, Path()))
    assert reader.post("/start", {"request": "{}"}).status_code == 404
    assert 'href="/start"' not in reader.get("/").text


def test_a_form_that_is_too_large_is_refused(visitor: Visitor) -> None:
    assert visitor.post("/start", {"request": "x" * 1_100_000}).status_code == 413


def test_it_listens_on_this_machine_only(source: LocalSource) -> None:
    server = ConsoleServer(source)
    try:
        assert server.origin.startswith("http://127.0.0.1:") and server.guard.key in server.address
        with socket.create_connection(("127.0.0.1", int(server.origin.rpartition(":")[2])), 5) as connection:
            assert connection.getpeername()[0] == "127.0.0.1"
        with pytest.raises(OSError, match=r"refused|unreachable"):
            socket.create_connection(("127.0.0.2", int(server.origin.rpartition(":")[2])), 5)
    finally:
        server.close()
