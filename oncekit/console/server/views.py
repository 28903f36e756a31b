"""One function a page."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from shlex import quote
from typing import Any
from urllib.parse import quote as in_url

from markupsafe import escape
from werkzeug.wrappers import Request, Response

from oncekit.console.listing import KINDS, Filter, Listing, listing
from oncekit.console.picture import SIGNS, lay_out
from oncekit.console.record_view import record_view
from oncekit.console.run_view import events_view, run_view, sign_of, visit_view
from oncekit.console.server.answers import elsewhere, html
from oncekit.console.source import Actions, Refused, Row, Source, Unknown
from oncekit.console.words import clock, day_and_time, duration
from oncekit.local.lanes import FAST, lane_of

MOST_RUNS = 50
"""Of an id, the newest: those whose writes its page shows."""
MOST_AHEAD_S = 7 * 86_400
"""That the clock is moved at once."""
LONG = 200
"""Visits of a run from which on each is told of only when it is opened."""
LONGEST_WAY = 30
"""States of a sparkline."""


@dataclass(frozen=True)
class Console:
    """What every page is about."""

    source: Source
    actions: Actions | None
    token: str
    laid_out: set[str] = field(default_factory=set)
    """Lanes whose picture was begun."""

    def page(self, template: str, here: str, status: int = 200, **values: Any) -> Response:
        return html(
            template,
            status,
            here=here,
            place=self.source.name,
            can_act=self.actions is not None,
            token=self.token,
            **values,
        )

    # ---- requests ----

    def requests(self, request: Request) -> Response:
        asked = Filter.of(request.args)
        found = listing(self.source.rows(), asked)
        self._lay_out([each.row for each in found.rows])
        return self.page("requests.html", "requests", asked=asked, kinds=KINDS, **self._listed(found))

    def _lay_out(self, rows: Sequence[Row]) -> None:
        """Begin with the pictures that will be looked at next: the first one takes a while."""
        for row in rows:
            if row.lane in self.laid_out or self.source.read_only:
                continue
            self.laid_out.add(row.lane)
            _, definition = self.source.run(row.arn)
            if definition is not None:
                threading.Thread(target=lay_out, args=(definition,), daemon=True).start()

    def rows(self, request: Request) -> Response:
        """The rows alone, for a page that is open."""
        return html("rows.html", **self._listed(listing(self.source.rows(), Filter.of(request.args))))

    def _listed(self, found: Listing) -> dict[str, Any]:
        shown = [(each, sign_of(each.row.kind), self._way(each.row), self._lasted(each.row)) for each in found.rows]
        return {"listing": found, "rows": shown, "address": run_address, "clock": clock, "day": day_and_time}

    def _way(self, row: Row) -> list[tuple[str, str, str]]:
        """Of each state its name, what became of it, and the sign of that."""
        try:
            way = self.source.way(row.arn)
        except Unknown:
            return []
        return [(name, outcome, SIGNS[outcome]) for name, outcome in way[-LONGEST_WAY:]]

    def _lasted(self, row: Row) -> str:
        end = row.ended_at or self.source.now()
        return duration((end - row.started_at).total_seconds())

    # ---- a run, a record ----

    def run(self, request: Request, arn: str) -> Response:
        return self.page("run.html", "requests", **self._run(arn), refused="")

    def run_body(self, request: Request, arn: str) -> Response:
        return html("run_body.html", **self._run(arn))

    def visit(self, request: Request, number: int, arn: str) -> Response:
        """What a long run tells of a visit when it is opened."""
        run, _ = self.source.run(arn)
        if (each := visit_view(run, number, self.source.now())) is None:
            raise Unknown(f"the execution has not entered {number} states")
        return html("visit.html", each=each, view={"has_payloads": True})

    def events(self, request: Request, arn: str) -> Response:
        run, _ = self.source.run(arn)
        return html("events.html", view={"events": events_view(run)})

    def _run(self, arn: str) -> dict[str, Any]:
        run, definition = self.source.run(arn)
        view = run_view(run, definition, self.source.now(), is_long=len(run.visits) > LONG)
        commands = {"history": f"once history {quote(arn)}", "export": f"once graph {quote(arn)} -o run.html"}
        if lane_of(arn) == FAST:  # Step Functions keeps no history of it, so that no command can read one
            commands = {"record": f"once show {quote(view.id)}"} if view.id else {}
        record = record_address(view.id) if view.id else ""
        return {"view": view, "commands": commands, "record": record, "others": self._others(view.id, arn)}

    def _others(self, id: str, arn: str) -> list[tuple[Row, str, str]]:
        """Executions of the same id, the newest first."""
        rows = [row for row in self.source.rows() if id and row.id == id and row.arn != arn]
        return [(row, sign_of(row.kind), run_address(row.arn)) for row in rows[:MOST_RUNS]]

    def record(self, request: Request, id: str) -> Response:
        done = request.args.get("done", "")
        return self.page("record.html", "requests", **self._record(id), done=done, refused="")

    def record_body(self, request: Request, id: str) -> Response:
        values: dict[str, Any] = {"can_act": self.actions is not None, "token": self.token}
        return html("record_body.html", **self._record(id), **values)

    def _record(self, id: str) -> dict[str, Any]:
        record = self.source.record(id)
        rows = [row for row in self.source.rows() if row.id == id]
        if record is None and not rows:
            raise Unknown(f"there is no record and no execution of {id}")
        runs = [self.source.run(row.arn)[0] for row in reversed(rows[:MOST_RUNS])]
        view = record_view(id, record or {}, runs, self.source.now())
        shown = [(row, sign_of(row.kind), run_address(row.arn), self._lasted(row)) for row in rows]
        at = record_address(id)
        return {
            "view": view,
            "rows": shown,
            "there": record is not None,
            "now": self.source.now().timestamp(),
            "at": at,
            "run_at": run_address,
            "commands": {name: f"once {name} {quote(id)}" for name in ("show", "retry", "release")},
        }

    # ---- what changes something ----

    def start_page(self, request: Request, refused: str = "", given: str = "") -> Response:
        events = self._actions().events()
        name = request.args.get("event", "") or next(iter(events), "")
        status = 422 if refused else 200
        text = given or events.get(name, "")
        faults = self._actions().faults()
        values = {"events": events, "name": name, "text": escape(text), "refused": refused, "faults": faults}
        return self.page("start.html", "start", status, **values)

    def start(self, request: Request) -> Response:
        text = request.form.get("request", "")
        try:
            given = {name: request.form.get(name, "") for name in ("lane", "fault")}
            id = self._actions().start(text, _times(request.form.get("times", "1")), given["lane"], given["fault"])
        except Refused as refused:
            return self.start_page(request, str(refused), text)
        return elsewhere(f"/?group=id&text={in_url(id)}")

    # ---- recovery and queues ----

    def waiting(self, request: Request) -> Response:
        return self.page("waiting.html", "waiting", **self._waiting(), done=request.args.get("done", ""), refused="")

    def waiting_body(self, request: Request) -> Response:
        values: dict[str, Any] = {"can_act": self.actions is not None, "token": self.token}
        return html("waiting_body.html", **self._waiting(), **values)

    def _waiting(self) -> dict[str, Any]:
        found, now = self._there().waiting(), self.source.now()
        records = sorted(found.records, key=lambda each: (each.get("status") != "QUARANTINED", str(each["id"])))
        return {
            "records": [record_view(str(each["id"]), each, (), now) for each in records],
            "record_at": record_address,
            "run_at": run_address,
            "errors": sorted({each.error for each in found.refused}),
            "found": found,
            "now": now.timestamp(),
            "time": day_and_time(now),
            "ahead": None if self.actions is None else self.actions.ahead(),
            "duration": duration,
        }

    def _there(self) -> Source:
        if self.source.read_only:
            raise Unknown("this console shows executions and records; `once ls` and `once doctor` say what waits")
        return self.source

    def advance(self, request: Request) -> Response:
        return self._do(lambda actions: actions.advance(_seconds(request.form.get("seconds", ""))))

    def replay(self, request: Request) -> Response:
        return self._do(lambda actions: actions.replay(request.form.get("error", "")))

    def _do(self, work: Callable[[Actions], str]) -> Response:
        try:
            done = work(self._actions())
        except Refused as refused:
            return self.page("waiting.html", "waiting", 409, **self._waiting(), done="", refused=str(refused))
        return elsewhere(f"/waiting?done={in_url(done)}")

    def stop(self, request: Request, arn: str) -> Response:
        try:
            self._actions().stop(arn)
        except Refused as refused:
            return self._do_not(str(refused), arn)
        return elsewhere(run_address(arn))

    def _do_not(self, why: str, arn: str) -> Response:
        return self.page("run.html", "requests", 409, **self._run(arn), refused=why)

    def act(self, request: Request, action: str, id: str) -> Response:
        actions = self._actions()
        result, failed = (request.form.get(name, "").strip() or None for name in ("result", "failed"))
        try:
            if action == "resolve":
                done = actions.resolve(id, result, failed)
            else:
                done = actions.retry(id) if action == "retry" else actions.release(id)
        except Refused as refused:
            return self.page("record.html", "requests", 409, **self._record(id), done="", refused=str(refused))
        return elsewhere(f"{record_address(id)}?done={in_url(done)}")

    def _actions(self) -> Actions:
        if self.actions is None:
            raise Unknown("this console only shows: nothing can be changed here")
        return self.actions


def _times(text: str) -> int:
    if not text.isdigit() or not 1 <= int(text) <= 1000:
        raise Refused("how often: a whole number from 1 to 1000")
    return int(text)


def _seconds(text: str) -> float:
    if not text.isdigit() or not 0 < int(text) <= MOST_AHEAD_S:
        raise Refused(f"how far: whole seconds, at most {MOST_AHEAD_S:,}")
    return float(text)


def run_address(arn: str) -> str:
    return f"/run/{in_url(arn, safe=':', errors='replace')}"


def record_address(id: str) -> str:
    return f"/record/{in_url(id, safe='', errors='replace')}"
