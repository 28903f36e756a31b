"""What a user can fix: the message says what is wrong, where, and what to do."""

from __future__ import annotations


class Problem(Exception):
    """Something about the application, or about what was asked for; nothing was written."""
