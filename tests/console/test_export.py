"""A run as one file: whole in itself, without scripts, and nothing in it that somebody else wrote as markup."""

from __future__ import annotations

import base64
import datetime
import hashlib
import json
import re
from html.parser import HTMLParser

import pytest
from scenario import charge

from oncekit.console.export import exported
from oncekit.console.here import run_here
from oncekit.local import LocalCloud

EVIL = "\"'><script>alert(1)</script><img src=//x onerror=alert(1)>&\x1b[2J\u202e"
NOW = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
SECRET = "4242424242424242"


class Elements(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def file_of(cloud: LocalCloud, request: dict[str, object], *, payloads: bool = True) -> str:
    ended = cloud.run(request)
    definition = json.loads(cloud.executions.find(ended.arn).state_machine.definition)
    return exported(run_here(ended), definition, NOW, payloads=payloads)


def test_the_file_tells_of_each_state_with_its_data_and_has_the_picture(cloud: LocalCloud) -> None:
    text = file_of(cloud, charge())
    ids = {attributes["id"] for _, attributes in Elements(text).found if "id" in attributes}
    assert {f"visit-{n}" for n in range(1, 6)} <= ids
    assert "EXECUTED" in text and "acme#charge-payment#order-1" in text
    assert '<a href="#visit-5" data-state="Finalize">' in text and "<title>Finalize (succeeded): " in text
    assert '<span class="key">&#34;amount&#34;</span>: <span class="number">4200</span>' in text


def test_nothing_is_loaded_or_run_whatever_the_file_says(cloud: LocalCloud) -> None:
    text = file_of(cloud, charge(EVIL))
    elements = Elements(text).found
    assert not [tag for tag, _ in elements if tag in ("script", "img", "link", "iframe", "object", "form")]
    assert not [name for _, attributes in elements for name in attributes if name.startswith("on") or name == "style"]
    assert all((attributes.get("href") or "#").startswith("#") for tag, attributes in elements if tag == "a")
    [style] = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    assert "url(" not in style and "@import" not in style
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"default-src &#39;none&#39;; style-src &#39;sha256-{digest}&#39;" in text.replace("'", "&#39;")
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text and "\x1b" not in text and "\u202e" not in text


@pytest.mark.parametrize("operation", ["charge-payment", "ask-somebody"])
def test_without_payloads_nothing_is_in_it_that_a_request_or_an_answer_said(cloud: LocalCloud, operation: str) -> None:
    request = {**charge(SECRET), "operation": operation}
    request["payload"] = {"orderId": SECRET, "amount": 1, "currency": "EUR"}
    with_all = file_of(cloud, request)
    cloud.reset()
    text = file_of(cloud, request, payloads=False)
    assert SECRET in with_all and SECRET not in text
    assert "payloads left out" in text and f"acme#{operation}#…" in text
