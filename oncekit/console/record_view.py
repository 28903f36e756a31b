"""What a page says of a record: what it is, and each write to it that an execution of its id made or was refused."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from oncekit.console.json_text import members_of, set_out
from oncekit.console.run import Attempt, Run, Visit
from oncekit.console.run_view import Said
from oncekit.console.words import clock, duration

WRITES = ("dynamodb:updateItem", "dynamodb:putItem", "dynamodb:deleteItem", "dynamodb:transactWriteItems")
REFUSED = "ConditionalCheckFailed"
STATUS = {
    "IN_PROGRESS": ("running", "●"),
    "COMPLETED": ("succeeded", "✓"),
    "FAILED": ("failed", "✗"),
    "QUARANTINED": ("stopped", "■"),
    "RELEASED": ("stopped", "■"),
}
RELEASED = "ReleasedByOperator"
"""The error of a record whose lock an operator released: nothing failed."""
SHOWN = ("fence", "attempts", "recoveries", "onCrash", "acquiredAt", "finishedAt")
NAMES = {
    "fence": "Fence",
    "attempts": "Attempts",
    "recoveries": "Recoveries",
    "onCrash": "On crash",
    "acquiredAt": "Acquired",
    "finishedAt": "Finished",
}


TOLD = {"status": "status", "attempts": "attempts", "leaseExpiresAt": "lease until", "error": "error"}
"""Attributes that the page shows of a write, and what it calls them."""


@dataclass(frozen=True)
class Write:
    """A call that wanted to change the record."""

    at: str
    state: str
    owner: str
    """The name of the execution."""
    arn: str
    visit: int
    kind: str
    sign: str
    ended: str
    fence: str
    changes: str
    """What it set, or wanted to set."""


@dataclass(frozen=True)
class RecordView:
    id: str
    kind: str
    sign: str
    status: str
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
    data: Sequence[Said]
    steps: Sequence[Said]
    writes: Sequence[Write]
    result_apart: str
    """How large a result is that is kept apart; empty where it is in the record, or there is none."""
    is_open: bool
    can_be_retried: bool


def record_view(id: str, record: Mapping[str, Any], runs: Iterable[Run], now: datetime.datetime) -> RecordView:
    status = str(record.get("status", ""))
    error = _error(record.get("error"))
    if status == "FAILED" and error.startswith(f"{RELEASED}:"):
        status = "RELEASED"
    kind, sign = STATUS.get(status, ("stopped", "?"))
    lease = _number(record.get("leaseExpiresAt"))
    is_open = status in ("IN_PROGRESS", "QUARANTINED")
    counts = status == "IN_PROGRESS" and lease is not None
    return RecordView(
        id=id,
        kind=kind,
        sign=sign,
        status=status,
        facts={NAMES[name]: str(record[name]) for name in SHOWN if name in record},
        owner=(owner := _execution(str(record.get("owner", "")))),
        owner_name=owner.split(":")[7] if owner.count(":") > 6 else owner,
        expired=(expires := _number(record.get("expiresAt"))) is not None and expires < now.timestamp(),
        lease=_lease(lease or 0, now) if counts else "",
        lease_ends=lease if counts else None,
        error=error,
        data=[
            Said(name, set_out(_text(record[name])), _text(record[name]))
            for name in ("error", "result", "resultRef", "request", "requestRef")
            if name in record
        ],
        steps=[Said(name, set_out(_text(step)), _text(step)) for name, step in _steps(record)],
        writes=sorted(writes(runs), key=lambda each: each.at),
        result_apart=_apart(record.get("resultRef")),
        is_open=is_open,
        can_be_retried=status == "QUARANTINED",
    )


def _execution(owner: str) -> str:
    """In the fast lane an owner is an execution and, as one more part, a nonce."""
    return ":".join(owner.split(":")[:9])


def _apart(ref: Any) -> str:
    return f"{_number(ref.get('bytes')) or 0:,.0f} bytes" if isinstance(ref, Mapping) else ""


def _number(value: Any) -> float | None:
    """A function with fenced steps may have written anything into its record."""
    return float(value) if isinstance(value, int | float) else None


def _steps(record: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    steps = record.get("steps")
    return steps.items() if isinstance(steps, Mapping) else ()


def _error(error: Any) -> str:
    return (
        ": ".join(str(error[name]) for name in ("name", "message") if error.get(name))
        if isinstance(error, Mapping)
        else ""
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=repr)


def _lease(ends: float, now: datetime.datetime) -> str:
    left = ends - now.timestamp()
    return f"{duration(left)} more" if left > 0 else f"over since {duration(-left)}" if ends else "was ended"


def writes(runs: Iterable[Run]) -> Iterable[Write]:
    """Those in the histories of these runs; what a function writes by itself is in `steps`."""
    for run in runs:
        for visit in run.visits:
            for attempt in visit.attempts:
                if attempt.resource in WRITES:
                    yield _write(run, visit, attempt)


def _write(run: Run, visit: Visit, attempt: Attempt) -> Write:
    error = attempt.failure.error or "failed" if attempt.failure else ""
    call = members_of(attempt.parameters)
    sets, values = assignments(call), call.get("ExpressionAttributeValues") or {}
    has = members_of(visit.output).get("Attributes") if not error else None
    fence = _plain(has.get("fence")) if isinstance(has, Mapping) else ""
    return Write(
        at=f"{attempt.began_at:%Y-%m-%d} {clock(attempt.began_at)}",
        state=visit.state,
        owner=run.name,
        arn=run.arn,
        visit=visit.number,
        kind="failed" if error else "succeeded",
        sign="✗" if error else "✓",
        ended="refused" if REFUSED in error else error or "written",
        fence=fence or sets.get("fence", "") or _plain(values.get(":mine")),
        changes=", ".join(f"{TOLD[name]} {_told(name, sets[name])}" for name in TOLD if name in sets),
    )


def _told(name: str, value: str) -> str:
    """A lease as a time of day."""
    if name != "leaseExpiresAt" or not re.fullmatch("[0-9]{1,11}", value):
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
    if not isinstance(typed, Mapping) or not typed:
        return ""
    kind, value = next(iter(typed.items()))
    return ": ".join(map(_plain, value.values())) if kind == "M" and isinstance(value, Mapping) else str(value)
