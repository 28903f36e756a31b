"""Whether the ends that were written are those that would be announced: each change to an end, once, and nothing else.

No event is delivered in a world. The stream of a table has what the journal has, and this holds it against the filters
of announcements/template.yaml and the event that functions/announce_end makes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from boto3.dynamodb.types import TypeSerializer

from oncekit.local.events.mappings import filters_of
from oncekit.local.events.patterns import matches
from oncekit.local.templates.template import parse
from oncekit.promises.journal import Fault, Item, Write
from oncekit.promises.openings import OPEN, is_expired, is_forgotten
from oncekit.proof.simulation.functions import loaded

ENDS = ("COMPLETED", "FAILED", "QUARANTINED")
BUS = SimpleNamespace(bus="default", table="records")


class Announcements:
    """Those of the project in a folder."""

    def __init__(self, root: Path) -> None:
        template = root / "announcements" / "template.yaml"
        resources = parse(template.read_text(encoding="utf-8"), template)["Resources"]
        self._filters = [json.loads(each) for each in filters_of(resources["EndMapping"]["Properties"])]
        self._event = loaded(root / "functions" / "announce_end").__globals__["announcement_of"]

    def faults(self, writes: Sequence[Write]) -> Iterator[Fault]:
        """P5: who waits for an event hears each end, and takes none for another one."""
        known: dict[str, Write] = {}
        for write in writes:
            is_heard = self._is_heard(write)
            if is_end(write) and not is_heard:
                yield Fault("P5", "lost", f"{write.id}: its end is not announced: {write.new}")
            if is_heard and not is_end(write):
                yield Fault("P5", "broken", f"{write.id}: announced, and no end: {write.new}")
            if is_heard:
                key = json.loads(self._event(_image(write.new), BUS)["Detail"])["key"]
                if key in known:
                    yield Fault("P5", "broken", f"{write.id}: another end has the key of this one: {known[key].new}")
                known[key] = write

    def _is_heard(self, write: Write) -> bool:
        images = {"OldImage": write.old, "NewImage": write.new}
        told = {"dynamodb": {name: _image(item) for name, item in images.items() if item is not None}}
        return any(matches(each, told) for each in self._filters)


def is_end(write: Write) -> bool:
    """An open record comes to an end. What an operator releases has none: it expires at once."""
    old, new = write.old, write.new
    if old is None or new is None or old["status"] not in OPEN or new["status"] not in ENDS:
        return False
    is_released = is_expired(new, write.at) or is_forgotten(write)
    return bool(new["status"] != old["status"]) and not is_released


def _image(item: Item | None) -> dict[str, Any]:
    """As a stream has it."""
    return {name: TypeSerializer().serialize(value) for name, value in (item or {}).items()}
