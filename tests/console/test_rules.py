"""Ways around the rules of who may use the console, each tried."""

from __future__ import annotations

import json

import pytest
from scenario import charge
from visitor import HERE, PORT, Visitor

from oncekit.console.local_source import LocalSource
from oncekit.console.server.guard import Guard
from oncekit.local import LocalCloud

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


@pytest.mark.parametrize(
    ("path", "status"),
    [("/", 200), ("/console.css", 200), ("/changes", 200), ("/nowhere", 404), ("/act/retry/a%23b%23c", 405)],
)
def test_every_answer_has_all_headers(visitor: Visitor, path: str, status: int) -> None:
    answer = visitor.get(path)
    assert answer.status_code == status and HEADERS.items() <= dict(answer.headers).items()


def test_also_a_refusal_and_the_way_to_another_page_have_all_headers(visitor: Visitor) -> None:
    refused = visitor.post("/start", {"request": "{}"}, token="")
    too_large = visitor.post("/start", {"request": "x" * 1_100_000})
    led = visitor.get(f"/?key={visitor.guard.key}")
    assert [each.status_code for each in (refused, too_large, led)] == [403, 413, 303]
    assert all(HEADERS.items() <= dict(each.headers).items() for each in (refused, too_large, led))


@pytest.mark.parametrize("origin", [f"https://127.0.0.1:{PORT}", f"http://127.0.0.1:{PORT}1", "http://127.0.0.1", ""])
def test_an_origin_is_ours_as_a_whole_or_not_at_all(visitor: Visitor, origin: str) -> None:
    assert visitor.post("/start", {"request": "{}", "times": "1"}, Origin=origin).status_code == 403


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


def test_the_cookie_ends_with_the_browser(visitor: Visitor) -> None:
    cookie = visitor.get(f"/?key={visitor.guard.key}").headers["Set-Cookie"]
    assert "Max-Age" not in cookie and "Expires" not in cookie and "Domain" not in cookie


def test_a_request_as_large_as_any_fits_into_the_form(cloud: LocalCloud, visitor: Visitor) -> None:
    """In a form, each byte of a letter beyond ASCII is three."""
    large = charge() | {"payload": {"text": "é" * 120_000}}
    request = json.dumps(large, ensure_ascii=False)
    assert visitor.post("/start", {"request": request, "times": "1"}).status_code == 303
    cloud.settle()


def test_a_page_of_a_server_that_was_there_before_changes_nothing(source: LocalSource, visitor: Visitor) -> None:
    anew = Visitor(source, None)
    answer = anew.post("/start", {"request": "{}"}, token=visitor.guard.token)
    assert answer.status_code == 403 and "reload it" in answer.text
    anew.client.set_cookie(anew.guard.cookie, visitor.guard.key, domain="127.0.0.1")
    assert "open the address" in anew.get("/").text
