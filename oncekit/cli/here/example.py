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
    """The sample's request where it is there, else the first one in the folder `events`."""
    events = template.parent / "events"
    sample = find_event(SAMPLE, template)
    own = [path for path in sorted(events.glob("*.json")) if path.name != Path(SAMPLE).name]
    files = [sample] if (events / Path(SAMPLE).name).is_file() else []
    for file in [*files, *(str(path.relative_to(template.parent)) for path in own)]:
        request = _request(template.parent / file)
        if request is not None:
            return Example(file, request)
    return Example(sample, {"operation": "charge-payment", "idempotencyKey": "order-12345", "payload": {}})


def _request(path: Path) -> Mapping[str, Any] | None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(found, dict) or not found.keys() >= _MEMBERS:
        return None
    # It is printed behind a # among lines that people paste into a shell: a line break would end the comment.
    return found if all(str(found.get(name, "")).isprintable() for name in _WORDS) else None
