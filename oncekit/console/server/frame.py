"""What every page has: where it reads, what it may do, and the story that is told, if one is."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from werkzeug.wrappers import Response

from oncekit.console.run_view import log_of
from oncekit.console.server.answers import html
from oncekit.console.source import Actions, LogReader, Printed, Row, Source, Unknown
from oncekit.console.tour import Tour
from oncekit.console.words import duration


@dataclass(frozen=True)
class Frame:
    source: Source
    actions: Actions | None
    token: str
    tour: Tour | None = None
    laid_out: set[str] = field(default_factory=set)
    """Lanes whose picture was begun."""
    prepared: threading.Lock = field(default_factory=threading.Lock)
    """Taken for good by the first who has what pages need loaded."""

    def page(self, template: str, here: str, status: int = 200, **values: Any) -> Response:
        return html(
            template,
            status,
            here=here,
            place=self.source.name,
            has_calls=self.source.calls() is not None,
            tour=self.tour,
            **self.powers(),
            **values,
        )

    def part(self, template: str, **values: Any) -> Response:
        """A part of a page that is open."""
        return html(template, **self.powers(), **values)

    def printed(self, read: Callable[[LogReader], Printed]) -> Response:
        """Lines of a log that somebody asked for, or why there are none."""
        if self.source.log_reader is None:
            raise Unknown("what functions printed is with each state")
        try:
            found = read(self.source.log_reader)
        except Unknown as unknown:
            found = Printed((), str(unknown))
        return html("log.html", log=log_of(found.lines), told=found.told)

    def powers(self) -> dict[str, Any]:
        return {
            "can_act": self.actions is not None,
            "token": self.token,
            "reads_log": self.source.log_reader is not None,
        }

    def lasted(self, row: Row) -> str:
        end = row.ended_at or self.source.now()
        return duration((end - row.started_at).total_seconds())

    def may_act(self) -> Actions:
        """Raises Unknown where nothing can be done."""
        if self.actions is None:
            raise Unknown("this console only shows: nothing can be changed here")
        return self.actions
