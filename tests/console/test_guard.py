"""Who is let in to the console, and what a page of it may do: a test for each rule."""

from __future__ import annotations

import json
import socket

import pytest
from scenario import charge
from visitor import HERE, PORT, Visitor, record_at, run_at

from oncekit.cli.here.console import LocalActions
from oncekit.console.local_source import LocalSource
from oncekit.console.pages import FOLDER
from oncekit.console.server.app import CHANGES, ConsoleServer
from oncekit.console.server.guard import Guard
from oncekit.local import LocalCloud

EVIL = "\"'><script>alert(1)</script>&\x1b]0;x\x07\u202e"


def test_every_value_is_text_on_every_page(cloud: LocalCloud, visitor: Visitor) -> None:
    ended = cloud.run({**charge(EVIL), "payload": {EVIL: EVIL}})
    refused = cloud.run({"operation": EVIL})
    cloud.run({**charge("q"), "operation": "ask-somebody", "payload": {EVIL: EVIL}})
    pages = ["/", f"/?text={EVIL}", run_at(ended.arn), run_at(refused.arn), record_at(f"acme#charge-payment#{EVIL}")]
    pages += [f"/visit/1/{ended.arn}", "/waiting", f"/waiting?done={EVIL}", "/start"]
    for page in [*pages, record_at("acme#ask-somebody#q"), f"/no-such-page/{EVIL}"]:
        text = visitor.get(page).text
        assert "<script>alert" not in text and "\x1b" not in text and "\u202e" not in text, page
    shown = [visitor.get(page).text for page in ("/", run_at(ended.arn))]
    assert all("&lt;script&gt;alert(1)&lt;/script&gt;" in text for text in shown)


@pytest.mark.parametrize(
    ("path", "status"),
    [("/", 200), ("/console.js", 200), ("/changes", 200), ("/nowhere", 404), ("/record/a%23b%23c", 404)],
)
def test_every_answer_lets_a_page_load_and_run_its_own_files_only(visitor: Visitor, path: str, status: int) -> None:
    answer = visitor.get(path)
    assert answer.status_code == status
    policy = dict(each.split(" ", 1) for each in answer.headers["Content-Security-Policy"].split("; "))
    assert policy["default-src"] == "'none'" and policy["script-src"] == policy["style-src"] == "'self'"
    assert policy["frame-ancestors"] == "'none'" and policy["form-action"] == "'self'" and "unsafe" not in str(policy)
    assert answer.headers["X-Content-Type-Options"] == "nosniff" and answer.headers["Cache-Control"] == "no-store"


def test_no_page_has_a_script_within_it_or_names_another_host() -> None:
    for file in FOLDER.glob("*.*"):
        text = file.read_text("utf-8").replace("http://www.w3.org/2000/svg", "")
        assert "http" + "://" not in text and "https://" not in text, file.name
        if file.suffix == ".html":
            assert "<style" not in text and "style=" not in text and " on" + "click" not in text and "|safe" not in text
            assert text.count("<script") == text.count('<script src="/console.js"'), file.name


@pytest.mark.parametrize("host", ["evil.example", "evil.example:4600", "127.0.0.1.evil.example", ""])
def test_a_name_that_leads_here_and_is_none_of_this_machines_gets_no_answer(visitor: Visitor, host: str) -> None:
    answer = visitor.client.get("/", base_url=HERE, headers={"Host": host})
    assert answer.status_code == 403 and "names of this machine" in answer.text


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "script"},
        {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Dest": "iframe"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": f"http://127.0.0.1:{PORT + 1}"},
    ],
)
def test_what_another_site_sends_is_refused(visitor: Visitor, headers: dict[str, str]) -> None:
    assert visitor.get("/", **headers).status_code == 403


def test_a_link_from_elsewhere_that_somebody_follows_is_let_in(visitor: Visitor) -> None:
    followed = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "document"}
    assert visitor.get("/", **followed).status_code == 200


@pytest.mark.parametrize("path", CHANGES)
@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Origin": f"http://127.0.0.1:{PORT + 1}"},
        {"Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "document"},
        {"Origin": HERE, "Sec-Fetch-Site": "same-site", "Sec-Fetch-Dest": "document"},
    ],
)
def test_nothing_is_changed_but_from_a_page_of_this_console(
    visitor: Visitor, path: str, headers: dict[str, str]
) -> None:
    """Also where the browser sends the cookie along, as it does to each port of 127.0.0.1."""
    assert visitor.post(path, {"request": json.dumps(charge())}, headers).status_code == 403
    assert "No request has come yet" in visitor.get("/").text


def test_without_the_key_nobody_sees_or_changes_anything(visitor: Visitor) -> None:
    visitor.client.delete_cookie(visitor.guard.cookie, domain="127.0.0.1")
    for page in ("/", "/start", "/console.js", "/changes", "/?key=guessed", "/result/a%23b%23c"):
        assert visitor.get(page).status_code == 403
    assert visitor.post(f"/start?key={visitor.guard.key}", {"request": "{}"}).status_code == 403


def test_the_key_becomes_a_cookie_that_no_script_reads_and_leaves_the_address(visitor: Visitor) -> None:
    visitor.client.delete_cookie(visitor.guard.cookie, domain="127.0.0.1")
    answer = visitor.get(f"/?key={visitor.guard.key}")
    assert (answer.status_code, answer.headers["Location"]) == (303, "/")
    cookie = answer.headers["Set-Cookie"]
    assert f"{visitor.guard.cookie}={visitor.guard.key}" in cookie and "HttpOnly" in cookie and "SameSite=Lax" in cookie
    assert visitor.get("/").status_code == 200


def test_a_link_to_a_view_with_the_key_opens_that_view(visitor: Visitor) -> None:
    """As of somebody else on this machine, in a browser that has not been here."""
    key = visitor.guard.key
    answer = visitor.get(f"/?text=order%201&key={key}&status=FAILED")
    assert answer.headers["Location"] == "/?text=order+1&status=FAILED"
    assert visitor.get(f"/record/a%23b%23c?key={key}").headers["Location"] == "/record/a%23b%23c"
    elsewhere = visitor.client.get("/", query_string={"key": key}, environ_overrides={"PATH_INFO": "//x.example/"})
    assert elsewhere.headers["Location"] == "/x.example/"


def test_two_consoles_share_neither_cookie_nor_key() -> None:
    one, other = Guard(PORT), Guard(PORT + 1)
    assert one.cookie != other.cookie and one.key != other.key and one.key not in repr(one)


def test_a_request_as_large_as_any_fits_into_the_form_and_none_larger(cloud: LocalCloud, visitor: Visitor) -> None:
    """In a form, each byte of a letter beyond ASCII is three."""
    request = json.dumps(charge() | {"payload": {"text": "é" * 120_000}}, ensure_ascii=False)
    assert visitor.post("/start", {"request": request, "times": "1"}).status_code == 303
    assert visitor.post("/start", {"request": "x" * 1_100_000}).status_code == 413
    cloud.settle()


def test_it_listens_on_this_machine_only(source: LocalSource, actions: LocalActions) -> None:
    server = ConsoleServer(source, actions)
    port = int(server.origin.rpartition(":")[2])
    try:
        assert server.origin == f"http://127.0.0.1:{port}" and server.guard.key in server.address
        socket.create_connection(("127.0.0.1", port), 5).close()
        with pytest.raises(OSError, match=r"refused|unreachable"):
            socket.create_connection(("127.0.0.2", port), 5)
    finally:
        server.close()
