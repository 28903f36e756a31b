"""The page that lists requests."""

from __future__ import annotations

from werkzeug.wrappers import Request, Response

from oncekit.console.listing import KINDS, Filter, listing
from oncekit.console.server.frame import Console

LONGEST_WAY = 30
"""States that a row shows, the last ones."""


def requests(console: Console, request: Request) -> Response:
    asked = Filter.of(request.args)
    found = listing(console.source.rows(), asked)
    shown = [(each, each.row.way[-LONGEST_WAY:], console.lasted(each.row)) for each in found.rows]
    return console.page("requests.html", "requests", asked=asked, kinds=KINDS, listing=found, rows=shown)
