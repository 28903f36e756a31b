"""Where scenarios run: what the local cloud and AWS do not have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from commands import Done
from scenarios.fast_lane import Look

from oncekit.stack.stack import Stack

Found = TypeVar("Found")


class TooLateError(AssertionError):
    """What a scenario waits for did not come within the time that it may take."""


class Backend(Protocol):
    """A deployed stack, time, and the `once` command there."""

    stack: Stack
    function_seconds: int
    """How long a function that the suite adds may run."""
    look_seconds: float
    """How often that function looks at a latch, in real seconds."""
    receive_seconds: int
    """How long a look into a queue waits for a message, in real seconds."""
    has_host_prefixes: bool
    """Whether StartSyncExecution has a host name of its own, as on AWS."""

    def until(self, look: Callable[[], Found | None], within: float, what: str) -> Found:
        """What `look` finds, as soon as it finds something; `within` seconds of this backend's time.

        Raises TooLateError, which names `what` was looked for.
        """

    def start_in_fast_lane(self, name: str, text: str) -> Look:
        """Start an execution of this name and input; what looks for its end."""

    def once(self, *arguments: str) -> Done:
        """A `once` command, as an operator gives it to this stack."""
