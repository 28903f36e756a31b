"""Python's search for garbage: off while a cloud is being made, and rare while it is up."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

RARELY = (100_000, 20, 100)
"""After how many new objects the search begins, and how often it goes through older ones. What a cloud keeps grows with
each execution: with 10,000 of them a search through all took 120 ms, every eighth page of the console."""


@contextmanager
def rare_collections() -> Iterator[None]:
    """What is there now stays, and is never looked through; what comes is looked through rarely."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(*RARELY)
    try:
        yield
    finally:
        gc.set_threshold(*before)


@contextmanager
def without_collections() -> Iterator[None]:
    """Nothing is garbage meanwhile: looking for it again and again took an eighth of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
