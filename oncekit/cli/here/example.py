"""The request that `once up` shows how to send: one of the application's own."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oncekit.cli.template import find_event

SAMPLE = "events/charge-payment.json"
_WORDS = ("tenant", "operation", "idempotencyKey")
_MEMBERS = {"operation", "idempotencyKey", "payload"}


@dataclass(frozen=True)
class Example:
    """A file with a request, and what is in it."""

    file: str
    request: Mapping[str, Any]

    @property
    def id(self) -> str:
        return "#".join((str(self.request.get("tenant", "default")), self.operation, self.key))

    @property
    def operation(self) -> str:
        return str(self.request["operation"])

    @property
    def key(self) -> str:
        return str(self.request["idempotencyKey"])

    @property
    def payload(self) -> str:
        """As a word of a shell."""
        return shlex.quote(json.dumps(self.request["payload"]))


def example_of(template: Path) -> Example:
    """The first request in the folder `events`, or the sample's where it is there."""
    events = (template.parent / "events").glob("*.json")
    for path in sorted(events, key=lambda path: (path.name != Path(SAMPLE).name, path.name)):
        if (request := _request(path)) is not None:
            return Example(find_event(str(path.relative_to(template.parent)), template), request)
    return Example(SAMPLE, {"operation": "charge-payment", "idempotencyKey": "order-12345", "payload": {}})


def _request(path: Path) -> Mapping[str, Any] | None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(found, dict) or not found.keys() >= _MEMBERS:
        return None
    # It is printed behind a # among lines that people paste into a shell: a line break would end the comment.
    return found if all(str(found.get(name, "")).isprintable() for name in _WORDS) else None
