"""What a user can fix: the message says what is wrong, where, and what to do."""

from __future__ import annotations


class Problem(Exception):
    """Something is wrong with what the command was given, or finds; exit code 2."""
