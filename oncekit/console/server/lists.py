"""The pages that list: requests, and calls of the HTTP API."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from werkzeug.wrappers import Request, Response

from oncekit.console import pages, picture
from oncekit.console.listing import KINDS, Filter, Listing, listing
from oncekit.console.picture import SIGNS, lay_out
from oncekit.console.rows import Row, Unknown
from oncekit.console.run_view import sign_of
from oncekit.console.server.addresses import run_address
from oncekit.console.server.answers import html
from oncekit.console.server.frame import Frame
from oncekit.console.words import clock, day_and_time, duration

LONGEST_WAY = 30
"""States of a sparkline."""


class Lists(Frame):
    def requests(self, request: Request) -> Response:
        asked = Filter.of(request.args)
        found = listing(self.source.rows(), asked)
        self._prepare()
        self._lay_out([each.row for each in found.rows])
        return self.page("requests.html", "requests", asked=asked, kinds=KINDS, **self._listed(found))

    def _prepare(self) -> None:
        """Somebody is here, and opens another page next: load what the first one of each kind would wait for."""
        if self.prepared.acquire(blocking=False):
            for prepare in (pages.prepare, picture.prepare):
                threading.Thread(target=prepare, daemon=True).start()

    def _lay_out(self, rows: Sequence[Row]) -> None:
        """Begin with the pictures that will be looked at next: the first one takes a while."""
        for row in rows:
            if row.lane not in self.laid_out:
                self.laid_out.add(row.lane)
                _, definition = self.source.run(row.arn)
                threading.Thread(target=lay_out, args=(definition,), daemon=True).start()

    def rows(self, request: Request) -> Response:
        """The rows alone, for a page that is open."""
        return html("rows.html", **self._listed(listing(self.source.rows(), Filter.of(request.args))))

    def _listed(self, found: Listing) -> dict[str, Any]:
        shown = [(each, sign_of(each.row.kind), self._way(each.row), self.lasted(each.row)) for each in found.rows]
        return {"listing": found, "rows": shown, "address": run_address, "clock": clock, "day": day_and_time}

    def _way(self, row: Row) -> list[tuple[str, str, str]]:
        """Of each state its name, what became of it, and the sign of that."""
        try:
            way = self.source.way(row.arn)
        except Unknown:
            return []
        return [(name, outcome, SIGNS[outcome]) for name, outcome in way[-LONGEST_WAY:]]

    def calls(self, request: Request) -> Response:
        return self.page("calls.html", "calls", **self._calls())

    def calls_body(self, request: Request) -> Response:
        return self.part("calls_body.html", **self._calls())

    def _calls(self) -> dict[str, Any]:
        calls = self.source.calls()
        if calls is None:
            raise Unknown("no HTTP API is watched here")
        told = [(each, duration(each.seconds)) for each in calls]
        return {"calls": told, "address": run_address, "clock": clock, "day": day_and_time}
