"""What work elsewhere does: `complete`, `fail` and `extend` of the library themselves, on the record of the model."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from email.utils import formatdate
from typing import Any

from once import ticket_writes
from once.errors import TicketError
from once.ticket import Ticket

from oncekit.local.patching import replaced
from oncekit.proof.model.machine import NOW
from oncekit.proof.model.record import Record, Table, as_json, parsed

RESULT = '"by work elsewhere"'
CALLS: Mapping[str, Callable[[str], object]] = {
    "complete": lambda ticket: ticket_writes.complete(ticket, "by work elsewhere"),
    "fail": lambda ticket: ticket_writes.fail(ticket, "by work elsewhere"),
    "extend": lambda ticket: ticket_writes.extend(ticket, 3600),
    "extend by less than is left": lambda ticket: ticket_writes.extend(ticket, 1),
}
Edits = tuple[tuple[str, str, str], ...]
"""Of writes: by which call, what in them, and what it is instead."""
_META = {"HTTPHeaders": {"date": formatdate(NOW, usegmt=True)}}


class _Refused(Exception):
    def __init__(self, record: Record) -> None:
        super().__init__()
        self.response = {"ResponseMetadata": _META} | ({} if record is None else {"Item": parsed(record)})


class _Client:
    """DynamoDB with the record."""

    class exceptions:  # noqa: N801  as boto3 calls it
        ConditionalCheckFailedException = _Refused

    def __init__(self, table: Table, record: Record, edits: list[tuple[str, str]]) -> None:
        self._table, self.record, self._edits, self._refused = table, record, edits, 0

    def get_item(self, **arguments: Any) -> dict[str, Any]:
        assert arguments["ConsistentRead"]
        return _Refused(self.record).response

    def update_item(self, **arguments: Any) -> None:
        call = as_json(arguments)
        for old, new in self._edits:
            assert old in call, f"no {old!r} in {call}"
            call = call.replace(old, new)
        after = self._table.update(self.record, call)
        if after is None:
            self._refused += 1
            # Nobody else writes meanwhile, so a mutant would try for ever.
            raise _Refused(self.record) if self._refused == 1 else TicketError
        # Every ticket is the same owner.
        self.record = re.sub(r"ticket:[0-9a-f]{32}", f"ticket:{'0' * 32}", after)


@functools.cache
def done(table: Table, record: Record, ticket: str, what: str, edits: Edits) -> Record:
    """The record after a call by a ticket, `acquiredAt fingerprint id`."""
    client = _Client(table, record, [(old, new) for call, old, new in edits if what.startswith(call)])
    with replaced((ticket_writes, "client", lambda _: client)), suppress(TicketError):
        CALLS[what](str(Ticket(table.name, "bucket", 30, ticket)))
    return client.record
