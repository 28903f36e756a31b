"""What every page has: where it reads, and what it may do."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

from werkzeug.wrappers import Response

from oncekit.console.actions import Actions
from oncekit.console.local_source import LocalSource
from oncekit.console.rows import Row
from oncekit.console.server.answers import html
from oncekit.console.words import duration


@dataclass(frozen=True)
class Frame:
    source: LocalSource
    actions: Actions
    token: str
    laid_out: set[str] = field(default_factory=set)
    """Lanes whose picture was begun."""
    prepared: threading.Lock = field(default_factory=threading.Lock)
    """Taken for good by the first who has what pages need loaded."""

    def page(self, template: str, here: str, status: int = 200, **values: Any) -> Response:
        return html(
            template,
            status,
            here=here,
            has_calls=self.source.calls() is not None,
            token=self.token,
            **values,
        )

    def part(self, template: str, **values: Any) -> Response:
        """A part of a page that is open."""
        return html(template, token=self.token, **values)

    def lasted(self, row: Row) -> str:
        end = row.ended_at or self.source.now()
        return duration((end - row.started_at).total_seconds())
