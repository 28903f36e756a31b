"""Somebody at the console, without a browser: each visit is a request to the application itself."""

from __future__ import annotations

import html
import re
from typing import Any
from urllib.parse import quote

from werkzeug.test import Client, TestResponse

from oncekit.console.actions import Actions
from oncekit.console.local_source import LocalSource
from oncekit.console.server.app import application
from oncekit.console.server.guard import Guard

PORT = 4600
HERE = f"http://127.0.0.1:{PORT}"


class Visitor:
    """Has the key, as a cookie, and sends forms from the console's own pages, unless told."""

    def __init__(self, source: LocalSource, actions: Actions) -> None:
        self.guard = Guard(PORT)
        self.client = Client(application(source, actions, self.guard))
        self.client.set_cookie(self.guard.cookie, self.guard.key, domain="127.0.0.1")

    def get(self, path: str, **headers: str) -> TestResponse:
        return self.client.get(path, base_url=HERE, headers=headers)

    def post(self, path: str, form: dict[str, Any], headers: dict[str, str] | None = None) -> TestResponse:
        return self.client.post(
            path, base_url=HERE, data=form, headers={"Origin": HERE} if headers is None else headers
        )

    def after(self, done: TestResponse) -> str:
        """The page that follows."""
        assert done.status_code == 303, done.text
        return self.get(done.headers["Location"]).text

    def act(self, action: str, id: str, page: str = "", **form: str) -> TestResponse:
        """What somebody decides on the page of an operation, as it is now, or as it was shown."""
        [seen, *_] = re.findall(r'name="seen" value="(.*?)"', page or self.get(record_at(id)).text)
        return self.post(record_at(id), {"seen": html.unescape(seen), "do": action, **form})


def run_at(arn: str) -> str:
    return f"/run/{arn}"


def record_at(id: str) -> str:
    return f"/record/{quote(id, safe='')}"


def rows_of(text: str) -> list[str]:
    [listed] = re.findall(r'<ol class="rows">(.*?)</ol>', text, re.DOTALL)
    return re.findall(r"<li class=.*?</li>", listed, re.DOTALL)


def moments_of(text: str) -> list[str]:
    """Those of an operation's timeline."""
    [told] = re.findall(r'<ol class="moments card">(.*?)</ol>\n</section>', text, re.DOTALL)
    return re.split(r'(?=<li class="\w+" id="moment-)', told)[1:]


def listed(text: str) -> list[tuple[str, str]]:
    """Status and key of each row."""
    found = [re.search(r"</span><span>(.*?)</span>.*?<b>(.*?)</b>", row, re.DOTALL) for row in rows_of(text)]
    return [(html.unescape(each[1]), html.unescape(each[2])) for each in found if each]
