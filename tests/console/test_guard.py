"""Who is let in to the console, and what a page of it may do: a test for each rule."""

from __future__ import annotations

import json
import socket

import pytest
from http_client import Client
from scenario import charge
from visitor import HERE, PORT, Visitor, record_at, run_at

from oncekit.cli.here.console import LocalActions
from oncekit.console.local_source import LocalSource
from oncekit.console.pages import FOLDER
from oncekit.console.server.guard import Guard
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


@pytest.mark.parametrize(
    ("path", "status"),
    [("/", 200), ("/console.js", 200), ("/changes", 200), ("/nowhere", 404), ("/act/retry/a%23b%23c", 405)],
)
def test_every_answer_lets_a_page_load_and_run_its_own_files_only(visitor: Visitor, path: str, status: int) -> None:
    answer = visitor.get(path)
    assert answer.status_code == status
    policy = dict(each.split(" ", 1) for each in answer.headers["Content-Security-Policy"].split("; "))
    assert policy["default-src"] == "'none'" and policy["script-src"] == policy["style-src"] == "'self'"
    assert policy["frame-ancestors"] == policy["base-uri"] == "'none'" and policy["form-action"] == "'self'"
    assert "unsafe" not in str(policy) and "Access-Control-Allow-Origin" not in answer.headers
    kept = ("X-Content-Type-Options", "Cache-Control", "Cross-Origin-Resource-Policy")
    assert [answer.headers[each] for each in kept] == ["nosniff", "no-store", "same-origin"]


def test_no_page_has_a_script_within_it_or_names_another_host() -> None:
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
        {"Origin": f"https://127.0.0.1:{PORT}"},
        {"Origin": ""},
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


def test_a_form_of_another_site_is_no_link_that_somebody_follows(visitor: Visitor) -> None:
    sent = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "document", "Sec-Fetch-Mode": "navigate"}
    form = {"token": visitor.guard.token, "request": "{}", "times": "1"}
    answer = visitor.client.post("/start", base_url=HERE, data=form, headers=sent)
    assert answer.status_code == 403 and "another site" in answer.text


def test_neither_the_key_nor_a_token_in_the_address_changes_anything(visitor: Visitor) -> None:
    token = visitor.guard.token
    assert visitor.post("/start", {"request": "{}"}, token=visitor.guard.key).status_code == 403
    assert visitor.post(f"/start?token={token}", {"request": "{}"}, token="").status_code == 403
    assert visitor.post("/start", {"request": "{}"}, token="", X_Once_Token=token).status_code == 403


def test_two_consoles_share_neither_cookie_nor_secrets() -> None:
    one, other = Guard(PORT), Guard(PORT + 1)
    assert one.cookie != other.cookie and len({one.key, one.token, other.key, other.token}) == 4
    assert not any(secret in repr(one) for secret in (one.key, one.token))


def test_a_request_as_large_as_any_fits_into_the_form(cloud: LocalCloud, visitor: Visitor) -> None:
    """In a form, each byte of a letter beyond ASCII is three."""
    large = charge() | {"payload": {"text": "é" * 120_000}}
    request = json.dumps(large, ensure_ascii=False)
    assert visitor.post("/start", {"request": request, "times": "1"}).status_code == 303
    cloud.settle()


def test_a_page_of_a_server_that_was_there_before_changes_nothing(
    source: LocalSource, actions: LocalActions, visitor: Visitor
) -> None:
    anew = Visitor(source, actions)
    answer = anew.post("/start", {"request": "{}"}, token=visitor.guard.token)
    assert answer.status_code == 403 and "reload it" in answer.text
    anew.client.set_cookie(anew.guard.cookie, visitor.guard.key, domain="127.0.0.1")
    assert "open the address" in anew.get("/").text


def test_a_form_that_is_too_large_is_refused(visitor: Visitor) -> None:
    assert visitor.post("/start", {"request": "x" * 1_100_000}).status_code == 413


def test_it_listens_on_this_machine_only(source: LocalSource, actions: LocalActions) -> None:
    server = ConsoleServer(source, actions)
    try:
        assert server.origin.startswith("http://127.0.0.1:") and server.guard.key in server.address
        with socket.create_connection(("127.0.0.1", int(server.origin.rpartition(":")[2])), 5) as connection:
            assert connection.getpeername()[0] == "127.0.0.1"
        with pytest.raises(OSError, match=r"refused|unreachable"):
            socket.create_connection(("127.0.0.2", int(server.origin.rpartition(":")[2])), 5)
    finally:
        server.close()
