"""How a request ended, as people read it: what counts as a conflict, which colour it has, why it failed."""

from __future__ import annotations

import json
from collections.abc import Iterable

ANSWERED = ("EXECUTED", "REPLAYED", "COMPLETED")
"""With its result: what an execution tells, or a record."""
IN_PROGRESS, RUNNING = "IN_PROGRESS", "RUNNING"
"""Without a result yet: what is told of an operation, and of an execution that nobody waits for any longer."""
PENDING = "pending: work elsewhere ends it"
"""Why a request ends as IN_PROGRESS, as the next two."""
HANDED_OVER = "handed over: the full lane goes on with it"
AT_WORK = "somebody else is at work on it"
CONFLICTS = ("OperationInProgress", "PayloadMismatch")
COLOURS = {"✓": "green", "↻": "cyan", "✗": "red"}
_MARKS = {"EXECUTED": "✓", "COMPLETED": "✓", "REPLAYED": "↻", "IN_PROGRESS": "↻", "RUNNING": "↻"}


def mark_of(outcome: str) -> str:
    """✓ executed, ↻ answered from what is there, ✗ failed or refused, as a request that is in conflict with another."""
    return _MARKS.get(outcome, "✗")


def code_of(outcome: str) -> int:
    """The exit code of one outcome."""
    return 0 if outcome in ANSWERED else 3 if outcome in (*CONFLICTS, IN_PROGRESS, RUNNING) else 1


def exit_code(ended: Iterable[tuple[str, str]]) -> int:
    """Of requests, each with its id and its outcome: 1 when one failed, else 3 when one is in conflict or in progress.

    Whoever is told that an operation is in progress counts as done when another one got the result under the same id.
    """
    told = list(ended)
    answered = {id for id, outcome in told if outcome in ANSWERED}
    codes = {code_of(outcome) for id, outcome in told if outcome != IN_PROGRESS or id not in answered}
    return 1 if 1 in codes else max(codes, default=0)


def message_in(cause: str | None) -> str | None:
    """Error and message in the cause of a failure, which is JSON where the state machine or Lambda wrote it."""
    try:
        told = json.loads(cause or "")
        return ": ".join(
            str(part)
            for part in (told.get("name"), told["errorMessage" if "errorMessage" in told else "message"])
            if part
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return cause
