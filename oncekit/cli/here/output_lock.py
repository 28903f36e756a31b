"""What functions print, and reports about executions, one after the other: neither cuts a line of the other."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from oncekit.cli.terminal import tell

_alone = threading.Lock()


@contextmanager
def alone() -> Iterator[None]:
    """Nobody else speaks meanwhile: for what is printed piece by piece, such as a path."""
    with _alone:
        yield


def tell_alone(*lines: str) -> None:
    """Whole lines on standard error, from any thread."""
    with _alone:
        tell(*lines)
