"""The form of a record that Once writes.

A function with fenced steps may write anything into its own record, and so may whoever has access to the table: what
reads records asks here first, and then needs no care.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

STATUSES: Final = ("IN_PROGRESS", "QUARANTINED", "COMPLETED", "FAILED")
OPEN: Final = STATUSES[:2]
"""Statuses of a record that holds a lock: it has a lease, too."""
ODD: Final = "its record is not in the form that Once writes"
_ALWAYS: Final = dict.fromkeys(("id", "status", "owner", "fingerprint", "acquiredAt"), str) | dict.fromkeys(
    ("fence", "attempts"), int
)
_PERHAPS: Final[Mapping[str, Any]] = {
    **dict.fromkeys(("onCrash", "openShard", "request", "pendingSince", "result", "finishedAt"), str),
    **dict.fromkeys(("leaseExpiresAt", "expiresAt"), int),
    **dict.fromkeys(("requestRef", "steps"), dict),
    "resultRef": {"bucket": str, "key": str, "bytes": int},
    "error": {"name": str, "message": str},
}
"""Whether a text is a time, or its request's, is asked where it is used: so are `decisions`, which no owner reads."""
_LATEST: Final = 250_000_000_000
"""Epoch seconds, of the year 9892: later ones are no time in Python."""


def is_whole(record: Mapping[str, Any]) -> bool:
    """Whether a record, as plain values, has what each record has, and all of it in the types that Once writes."""
    status = record.get("status")
    needed = {**_ALWAYS, "leaseExpiresAt": int} if status in OPEN else _ALWAYS
    return (
        _has(record, needed)
        and all(_is(record[name], form) for name, form in _PERHAPS.items() if name in record)
        and status in STATUSES
        and record["id"].count("#") >= 2
        and all(0 <= record.get(name, 0) <= _LATEST for name in ("leaseExpiresAt", "expiresAt"))
    )


def _has(value: Mapping[str, Any], form: Mapping[str, Any]) -> bool:
    return all(name in value and _is(value[name], each) for name, each in form.items())


def _is(value: object, form: Any) -> bool:
    """Exactly: a bool is no number."""
    return isinstance(value, dict) and _has(value, form) if isinstance(form, dict) else type(value) is form
