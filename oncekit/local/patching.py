"""Replaces attributes while a context is open."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
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
