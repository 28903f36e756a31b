"""What a user can fix: the message says what is wrong, where, and what to do."""

from __future__ import annotations


class Problem(Exception):
    """Something is wrong with what the command was given, or finds."""

    code = 2
    """The exit code."""


class Failed(Problem):
    """What the command was to do has failed."""

    code = 1
