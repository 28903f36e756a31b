"""Replaces attributes while a context is open."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

Change = tuple[Any, str, Any]
"""Owner, name and new value of an attribute."""

_MISSING = object()


@contextmanager
def replaced(*changes: Change) -> Iterator[None]:
    """Make changes, and put back what was there, newest first."""
    before = []
    try:
        for owner, name, value in changes:
            before.append((owner, name, vars(owner).get(name, _MISSING)))
            setattr(owner, name, value)
        yield
    finally:
        for owner, name, old in reversed(before):
            if old is _MISSING:
                delattr(owner, name)
            else:
                setattr(owner, name, old)


@contextmanager
def when_asked(answering: Callable[[], Iterable[Change]], *names: str) -> Iterator[None]:
    """Makes changes when moto is first asked for a service by one of its names: importing one can take a second."""
    from moto import backends

    theirs, lock, opened = backends.get_backend, threading.Lock(), ExitStack()
    asked = False

    def get_backend(name: str) -> Any:
        nonlocal asked
        with lock:
            if name in names and not asked:
                opened.enter_context(replaced(*answering()))
                asked = True
        return theirs(name)

    with opened, replaced((backends, "get_backend", get_backend)):
        yield
