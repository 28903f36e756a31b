"""The pages from which something is started or moved: start, and what waits."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from shlex import quote
from typing import Any
from urllib.parse import quote as in_url

from markupsafe import escape
from werkzeug.wrappers import Request, Response

from oncekit.console.actions import Actions, Prospect, Refused
from oncekit.console.record_view import record_view
from oncekit.console.rows import Message
from oncekit.console.server.addresses import record_address, rows_address, run_address
from oncekit.console.server.answers import elsewhere
from oncekit.console.server.frame import Frame
from oncekit.console.words import day_and_time, duration

MOST_PROSPECTS = 100
"""Refused requests of which the page says what would become of them: each may be a look at a record."""
MOST_AHEAD_S = 7 * 86_400
"""That the clock is moved at once."""


class Doing(Frame):
    def start_page(self, request: Request, refused: str = "", given: str = "") -> Response:
        events = self.actions.events()
        name = request.args.get("event", "") or next(iter(events), "")
        status = 422 if refused else 200
        text = given or events.get(name, "")
        faults = self.actions.faults()
        values = {"events": events, "name": name, "text": escape(text), "refused": refused, "faults": faults}
        return self.page("start.html", "start", status, **values)

    def start(self, request: Request) -> Response:
        text = request.form.get("request", "")
        try:
            given = {name: request.form.get(name, "") for name in ("lane", "fault")}
            id = self.actions.start(text, _times(request.form.get("times", "1")), given["lane"], given["fault"])
        except Refused as refused:
            return self.start_page(request, str(refused), text)
        return elsewhere(rows_address(id))

    # ---- recovery and queues ----

    def waiting(self, request: Request) -> Response:
        return self.page("waiting.html", "waiting", **self._waiting(), done=request.args.get("done", ""), refused="")

    def waiting_body(self, request: Request) -> Response:
        return self.part("waiting_body.html", **self._waiting())

    def _waiting(self) -> dict[str, Any]:
        found, now = self.source.waiting(), self.source.now()
        records = sorted(found.records, key=lambda each: (each.get("status") != "QUARANTINED", str(each["id"])))
        refused = [(each, self._prospect(each, number)) for number, each in enumerate(found.refused)]
        return {
            "records": [record_view(str(each["id"]), each, (), now) for each in records],
            "record_at": record_address,
            "run_at": run_address,
            "errors": _by_error(refused),
            "refused_requests": refused,
            "found": found,
            "now": now.timestamp() if self.source.ticks else None,
            "time": day_and_time(now),
            "ahead": self.actions.ahead(),
            "duration": duration,
        }

    def _prospect(self, message: Message, number: int) -> Prospect:
        if not message.error or number >= MOST_PROSPECTS:
            return Prospect(False, "")
        try:
            return self.actions.prospect(message)
        except Refused as why:
            return Prospect(False, str(why))

    def advance(self, request: Request) -> Response:
        return self._do(lambda actions: actions.advance(_seconds(request.form.get("seconds", ""))))

    def replay(self, request: Request) -> Response:
        return self._do(lambda actions: actions.replay(request.form.get("error", "")))

    def discard(self, request: Request) -> Response:
        return self._do(lambda actions: actions.discard(request.form.get("error", "")))

    def _do(self, work: Callable[[Actions], str]) -> Response:
        try:
            done = work(self.actions)
        except Refused as refused:
            return self.page("waiting.html", "waiting", 409, **self._waiting(), done="", refused=str(refused))
        return elsewhere(f"/waiting?done={in_url(done)}")


@dataclass(frozen=True)
class Kind:
    """The refused requests with one error, and what can be done to all of them."""

    error: str
    count: int
    stuck: int
    """How many of them surely get no further when they are started again."""

    @property
    def options(self) -> str:
        """Of the commands that start them again, or delete them."""
        return f"--rejected --error {quote(self.error)}"

    @property
    def outlook(self) -> str:
        if not self.stuck:
            return ""
        return f"{self.stuck} of {self.count} would be refused again, or cannot start: each says why."


def _by_error(refused: Sequence[tuple[Message, Prospect]]) -> list[Kind]:
    errors = sorted({each.error for each, _ in refused if each.error})
    return [
        Kind(error, len(stuck), sum(stuck))
        for error in errors
        for stuck in [[prospect.is_stuck for each, prospect in refused if each.error == error]]
    ]


def _times(text: str) -> int:
    if not 1 <= _whole(text) <= 1000:
        raise Refused("how often: a whole number from 1 to 1000")
    return _whole(text)


def _seconds(text: str) -> float:
    if not 0 < _whole(text) <= MOST_AHEAD_S:
        raise Refused(f"how far: whole seconds, at most {MOST_AHEAD_S:,}")
    return float(text)


def _whole(text: str) -> int:
    """A number in plain digits, and not in too many for `int`; -1 for what is none."""
    return int(text) if re.fullmatch("[0-9]{1,9}", text) else -1
