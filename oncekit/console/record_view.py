"""What a page says of a record: what it is, and each write to it that an execution of its id made or was refused."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from oncekit.console.json_text import members_of
from oncekit.console.run import Attempt, Run, Visit
from oncekit.console.words import duration

WRITES = ("dynamodb:updateItem", "dynamodb:putItem", "dynamodb:deleteItem", "dynamodb:transactWriteItems")
REFUSED = "ConditionalCheckFailed"
KINDS = {
    "IN_PROGRESS": "running",
    "COMPLETED": "succeeded",
    "FAILED": "failed",
    "QUARANTINED": "stopped",
    "RELEASED": "stopped",
}
RELEASED = "ReleasedByOperator"
"""The error of a record whose lock an operator released: nothing failed."""
FACTS = {
    "fence": "Fence",
    "attempts": "Attempts",
    "onCrash": "On crash",
    "acquiredAt": "Acquired",
    "finishedAt": "Finished",
}
DATA = ("error", "result", "resultRef", "request", "requestRef")
TOLD = {"status": "status", "attempts": "attempts", "leaseExpiresAt": "lease until", "error": "error"}
"""Attributes that the page shows of a write, and what it calls them."""


@dataclass(frozen=True)
class Write:
    """A call that wanted to change the record."""

    at: datetime.datetime
    run: Run
    visit: Visit
    kind: str
    ended: str
    fence: str
    changes: str
    """What it set, or wanted to set."""


@dataclass(frozen=True)
class RecordView:
    id: str
    kind: str
    status: str
    """Empty where there is no record."""
    facts: Mapping[str, str]
    owner: str
    """The ARN of its execution."""
    owner_name: str
    expired: bool
    """Whether it counts no more, though it is still there."""
    lease: str
    lease_ends: float | None
    """Epoch seconds, while it counts."""
    error: str
    data: Mapping[str, str]
    steps: Mapping[str, str]
    result_bytes: int | None
    """How large a result is that is kept apart."""

    @property
    def is_open(self) -> bool:
        return self.status in ("IN_PROGRESS", "QUARANTINED")


def record_view(id: str, record: Mapping[str, Any], now: datetime.datetime) -> RecordView:
    error = record.get("error") or {}
    is_released = record.get("status") == "FAILED" and error.get("name") == RELEASED
    status = "RELEASED" if is_released else str(record.get("status", ""))
    owner = ":".join(str(record.get("owner", "")).split(":")[:9])  # in the fast lane a nonce follows
    lease = float(record["leaseExpiresAt"]) if status == "IN_PROGRESS" else None
    return RecordView(
        id=id,
        kind=KINDS.get(status, "stopped"),
        status=status,
        facts={said: str(record[name]) for name, said in FACTS.items() if name in record},
        owner=owner,
        owner_name=owner.split(":")[7] if owner.count(":") > 6 else owner,
        expired=record.get("expiresAt", now.timestamp()) < now.timestamp(),
        lease="" if lease is None else _lease(lease, now),
        lease_ends=lease,
        error=": ".join(str(error[name]) for name in ("name", "message") if error.get(name)),
        data={name: _text(record[name]) for name in DATA if name in record},
        steps={name: _text(step) for name, step in record.get("steps", {}).items()},
        result_bytes=record.get("resultRef", {}).get("bytes"),
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=repr)


def _lease(ends: float, now: datetime.datetime) -> str:
    left = ends - now.timestamp()
    return f"{duration(left)} more" if left > 0 else f"over since {duration(-left)}" if ends else "was ended"


def writes(runs: Iterable[Run]) -> Sequence[Write]:
    """Those in the histories of these runs, by time; what a function writes by itself is in `steps`."""

    def found() -> Iterator[Write]:
        for run in runs:
            for visit in run.visits:
                yield from (_write(run, visit, each) for each in visit.attempts if each.resource in WRITES)

    return sorted(found(), key=lambda each: each.at)


def _write(run: Run, visit: Visit, attempt: Attempt) -> Write:
    error = attempt.failure.error or "failed" if attempt.failure else ""
    call = members_of(attempt.parameters)
    sets = assignments(call)
    has = {} if error else members_of(visit.output).get("Attributes") or {}
    mine = (call.get("ExpressionAttributeValues") or {}).get(":mine")
    return Write(
        at=attempt.began_at,
        run=run,
        visit=visit,
        kind="failed" if error else "succeeded",
        ended="refused" if REFUSED in error else error or "written",
        fence=_plain(has.get("fence")) or sets.get("fence", "") or _plain(mine),
        changes=", ".join(f"{TOLD[name]} {_told(name, sets[name])}" for name in TOLD if name in sets),
    )


def _told(name: str, value: str) -> str:
    """A lease as a time of day."""
    if name != "leaseExpiresAt":
        return value
    return "its end" if value == "0" else f"{datetime.datetime.fromtimestamp(int(value), datetime.UTC):%H:%M:%S}"


def assignments(call: Mapping[str, Any]) -> dict[str, str]:
    """What an UpdateItem sets to a value of its own, by attribute."""
    names, values = call.get("ExpressionAttributeNames") or {}, call.get("ExpressionAttributeValues") or {}
    sets = str(call.get("UpdateExpression", "")).partition("SET ")[2].partition("REMOVE ")[0]
    return {
        str(names.get(name, name)): _plain(values.get(value))
        for name, value in re.findall(r"([#\w.]+)\s*=\s*(:\w+)(?=\s*(?:,|$))", sets)
    }


def _plain(typed: Any) -> str:
    """A value under its type; of a map, such as an error, its members."""
    if not typed:
        return ""
    kind, value = next(iter(typed.items()))
    return ": ".join(map(_plain, value.values())) if kind == "M" else str(value)
