"""The page of a run, what it tells when it is opened further, and two runs beside each other."""

from __future__ import annotations

from shlex import quote
from typing import Any

from werkzeug.wrappers import Request, Response

from oncekit.console.actions import Refused
from oncekit.console.rows import Row, Unknown
from oncekit.console.run import Run
from oncekit.console.run_view import RunView, events_view, run_view, sign_of, visit_view
from oncekit.console.server.addresses import beside_address, record_address, run_address
from oncekit.console.server.answers import elsewhere, html
from oncekit.console.server.frame import Frame
from oncekit.local.lanes import FAST, lane_of

MOST_RUNS = 50
"""Of an id, the newest: those whose writes its page shows."""
LONG = 200
"""From this many visits of a run on, each is shown only when it is opened."""
MUCH = 500_000
"""Characters of data in all its states, from which on likewise: a page that is open is made again with each event."""
FIRST = 400
"""Visits that the page of a run has at once."""


class Runs(Frame):
    def run(self, request: Request, arn: str) -> Response:
        return self.page("run.html", "requests", **self._run(arn), refused="")

    def run_body(self, request: Request, arn: str) -> Response:
        return self.part("run_body.html", **self._run(arn))

    def visit(self, request: Request, number: int, arn: str) -> Response:
        """What the page of a long run shows of a visit when it is opened."""
        run, _ = self.source.run(arn)
        if (each := visit_view(run, number, self.source.now(), self.source.log(run))) is None:
            raise Unknown(f"the execution has not entered {number} states")
        return self.part("visit.html", each=each, view={"run": run})

    def events(self, request: Request, arn: str) -> Response:
        run, _ = self.source.run(arn)
        return html("events.html", view={"events": events_view(run)})

    def beside(self, request: Request) -> Response:
        """Two runs of one id, the one that did the work first."""
        views = [self._view(request.args.get(name, ""), data=False) for name in ("one", "other")]
        views.sort(key=lambda view: view.outcome != "EXECUTED")
        return self.page("beside.html", "requests", views=views, address=run_address, record=record_address)

    def _view(self, arn: str, *, data: bool = True) -> RunView:
        run, definition = self.source.run(arn)
        is_long = not data or len(run.visits) > LONG or _characters(run) > MUCH
        log = {} if is_long else self.source.log(run)
        last = FIRST if is_long and data and len(run.visits) > FIRST else None
        return run_view(run, definition if data else None, self.source.now(), is_long=is_long, last=last, log=log)

    def further(self, request: Request, arn: str) -> Response:
        """The visits that the page of a long run leaves for later."""
        run, _ = self.source.run(arn)
        return html("further.html", view=run_view(run, None, self.source.now(), is_long=True, first=FIRST))

    def _run(self, arn: str) -> dict[str, Any]:
        view = self._view(arn)
        return {
            "view": view,
            "commands": _commands(view, arn),
            "stop_command": f"aws stepfunctions stop-execution --execution-arn {quote(arn)} --error OwnerDied",
            "record": record_address(view.id) if view.id else "",
            "others": self._others(view.id, arn),
        }

    def _others(self, id: str, arn: str) -> list[tuple[Row, str, str, str]]:
        """Executions of the same id, the newest first; but the one that did the work before all."""
        rows = [row for row in self.source.rows() if id and row.id == id and row.arn != arn][:MOST_RUNS]
        rows.sort(key=lambda row: row.outcome != "EXECUTED")
        return [(row, sign_of(row.kind), run_address(row.arn), beside_address(row.arn, arn)) for row in rows]

    def stop(self, request: Request, arn: str) -> Response:
        try:
            self.actions.stop(arn)
        except Refused as refused:
            return self.page("run.html", "requests", 409, **self._run(arn), refused=str(refused))
        return elsewhere(run_address(arn))


def _characters(run: Run) -> int:
    said = [text for visit in run.visits for text in (visit.input, visit.output, *visit.variables.values())]
    sent = [attempt.parameters for visit in run.visits for attempt in visit.attempts]
    return sum(len(text or "") for text in (*said, *sent))


def _commands(view: RunView, arn: str) -> dict[str, str]:
    """Of the fast lane Step Functions keeps no history, so that no command can read one."""
    if lane_of(arn) == FAST:
        return {"show": f"once show {quote(view.id)}"} if view.id else {}
    return {"show": f"once show {quote(arn)}", "draw": f"once show {quote(arn)} --draw run.svg"}
