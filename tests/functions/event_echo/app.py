"""Business logic that returns the whole event it was sent, its token, too."""

from __future__ import annotations

from typing import Any


def handler(event: dict[str, Any], _context: object) -> Any:
    return event
