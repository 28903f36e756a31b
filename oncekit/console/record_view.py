"""What a page says of a record."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from oncekit.console.decided import was_run_again
from oncekit.console.listing import DATA, status_of
from oncekit.console.picture import KINDS
from oncekit.console.visible import text_of
from oncekit.console.words import duration
from oncekit.contract.lanes import is_direct, name_of
from oncekit.contract.words import OPERATOR, TICKET

FACTS = {
    "fence": "Fence",
    "attempts": "Attempts",
    "onCrash": "On crash",
}


@dataclass(frozen=True)
class RecordView:
    id: str
    kind: str
    status: str
    """Empty where there is no record."""
    facts: Mapping[str, str]
    owner: str
    """The ARN of its execution; empty where it is none: an invocation in the direct lane, a person, work elsewhere."""
    owner_name: str
    expired: bool
    """Whether it counts no more, though it is still there."""
    pending: bool
    """Whether it waits for work elsewhere: nobody is at work on it here."""
    lease: str
    error: str
    data: Mapping[str, str]
    steps: Mapping[str, str]
    result_bytes: int | None
    """How large a result is that is kept apart."""


def record_view(id: str, record: Mapping[str, Any], now: datetime.datetime) -> RecordView:
    error = record.get("error") or {}
    status = status_of(record)
    given = str(record.get("owner", ""))
    owner = ":".join(given.split(":")[:9])  # in the fast lane a nonce follows
    nobody = "a person" if OPERATOR in owner else "its ticket" if owner.startswith(TICKET) else ""
    again = {"attempts": " since it was run again"} if was_run_again(record) else {}
    return RecordView(
        id=id,
        kind=KINDS.get(status, "stopped"),
        status=status,
        facts={said: f"{record[name]}{again.get(name, '')}" for name, said in FACTS.items() if name in record},
        owner="" if nobody or is_direct(owner) else owner,
        owner_name=nobody or name_of(given),
        expired=record.get("expiresAt", now.timestamp()) < now.timestamp(),
        pending=status == "IN_PROGRESS" and "pendingSince" in record,
        lease=_lease(float(record["leaseExpiresAt"]), now) if status == "IN_PROGRESS" else "",
        error=": ".join(str(error[name]) for name in ("name", "message") if error.get(name)),
        data={name: text_of(record[name]) for name in DATA if name in record},
        steps={name: text_of(step) for name, step in record.get("steps", {}).items()},
        result_bytes=record.get("resultRef", {}).get("bytes"),
    )


def _lease(ends: float, now: datetime.datetime) -> str:
    left = ends - now.timestamp()
    return f"{duration(left)} more" if left > 0 else f"over since {duration(-left)}" if ends else "was ended"
