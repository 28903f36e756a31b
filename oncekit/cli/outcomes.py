"""How a request ended, as people read it: what counts as a conflict, which colour it has, why it failed."""

from __future__ import annotations

import json

CONFLICTS = ("OperationInProgress", "PayloadMismatch")
COLOURS = {"✓": "green", "↻": "cyan", "✗": "red"}


def message_in(cause: str | None) -> str | None:
    """Error and message in the cause of a failure, which is JSON where the state machine wrote it."""
    try:
        told = json.loads(cause or "")
        return ": ".join(str(part) for part in (told.get("name"), told["message"]) if part)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return cause
