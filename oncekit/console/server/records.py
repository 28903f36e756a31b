"""The page of a record, its result, and what an operator does to it."""

from __future__ import annotations

from shlex import quote
from typing import Any
from urllib.parse import quote as in_url

from werkzeug.wrappers import Request, Response

from oncekit.console.actions import Refused
from oncekit.console.record_view import record_view
from oncekit.console.rows import Unknown
from oncekit.console.run_view import data_of, sign_of
from oncekit.console.server.addresses import record_address, run_address
from oncekit.console.server.answers import elsewhere, html
from oncekit.console.server.frame import Frame
from oncekit.console.server.runs import MOST_RUNS


class Records(Frame):
    def record(self, request: Request, id: str) -> Response:
        done = request.args.get("done", "")
        return self.page("record.html", "requests", **self._record(id), done=done, refused="")

    def record_body(self, request: Request, id: str) -> Response:
        return self.part("record_body.html", **self._record(id))

    def result(self, request: Request, id: str) -> Response:
        """A result that is kept apart, as it is asked for."""
        text = self.source.result(id)
        return html("result.html", each=data_of({"result": text}))

    def _record(self, id: str) -> dict[str, Any]:
        record = self.source.record(id)
        rows = [row for row in self.source.rows() if row.id == id]
        if record is None and not rows:
            raise Unknown(f"there is no record and no execution of {id}")
        runs = [self.source.run(row.arn)[0] for row in reversed(rows[:MOST_RUNS])]
        now = self.source.now()
        view = record_view(id, record or {}, runs, now)
        return {
            "view": view,
            "rows": [(row, sign_of(row.kind), run_address(row.arn), self.lasted(row)) for row in rows],
            "there": record is not None,
            "now": now.timestamp() if self.source.ticks else None,
            "owner_at": run_address(view.owner) if view.owner else "",
            "run_at": run_address,
            "commands": {name: f"once {name} {quote(id)}" for name in ("show", "retry", "release")}
            | {"resolve": f"once resolve {quote(id)} --result FILE"},
        }

    def act(self, request: Request, action: str, id: str) -> Response:
        result, failed = (request.form.get(name, "").strip() or None for name in ("result", "failed"))
        try:
            if action == "resolve":
                done = self.actions.resolve(id, result, failed)
            else:
                done = self.actions.retry(id) if action == "retry" else self.actions.release(id)
        except Refused as refused:
            return self.page("record.html", "requests", 409, **self._record(id), done="", refused=str(refused))
        return elsewhere(f"{record_address(id)}?done={in_url(done)}")
