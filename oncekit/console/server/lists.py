"""The page that lists operations."""

from __future__ import annotations

from typing import Any

from werkzeug.wrappers import Request, Response

from oncekit.console.listing import STATUSES, Filter, listing
from oncekit.console.local_source import KEPT
from oncekit.console.record_view import KINDS
from oncekit.console.server.frame import Console


def requests(console: Console, request: Request) -> Response:
    asked = Filter.of(request.args)
    found = listing(console.source.rows(), asked, console.source.record)
    words: dict[str, Any] = {"statuses": STATUSES, "kinds": KINDS, "kept": KEPT}
    return console.page("requests.html", "requests", asked=asked, listing=found, **words)
