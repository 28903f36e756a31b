"""What work elsewhere does at its end: it ends the operation with the ticket that its function was given."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from once import ticket_writes
from once.ticket import Ticket

from oncekit.local import LocalCloud
from oncekit.local.patching import replaced


def end_by_ticket(
    cloud: LocalCloud, id: str, result: Any = None, *, failed: str = "", status: int | None = None
) -> bool:
    """Whether the ticket of its try ends the operation: with this result, or as failed."""
    record, outputs = cloud.record(id) or {}, cloud.outputs
    of = f"{record['acquiredAt']} {record['fingerprint']} {id}"
    ticket = str(Ticket(outputs["TableName"], outputs["ResponseBucketName"], 30, of))
    now = datetime.fromtimestamp(cloud.clock.now(), UTC)
    with replaced((ticket_writes, "client", cloud.client), (ticket_writes, "parsedate_to_datetime", lambda _: now)):
        if failed:
            return ticket_writes.fail(ticket, failed, status=status).changed
        return ticket_writes.complete(ticket, result).changed
