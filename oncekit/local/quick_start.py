"""What makes a cloud start and run faster: less of moto is imported, and Python looks for garbage less often.

One small module is needed of moto's CloudFormation, but importing it imports the whole package, and that every service:
slower than all the rest.
"""

from __future__ import annotations

import gc
import importlib
import importlib.util
import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager


def import_models() -> None:
    """Import what moto's models of resources need of CloudFormation. What is left out stays importable."""
    with _bare("moto.cloudformation"):
        importlib.import_module("moto.cloudformation.exceptions")


@contextmanager
def _bare(package: str) -> Iterator[None]:
    """While open, modules of the package can be imported without what the package itself imports."""
    parent = importlib.util.find_spec(package.partition(".")[0])
    if package in sys.modules or parent is None or parent.submodule_search_locations is None:
        yield
        return
    stand_in = types.ModuleType(package)
    stand_in.__path__ = [f"{location}/{package.rpartition('.')[2]}" for location in parent.submodule_search_locations]
    sys.modules[package] = stand_in
    try:
        yield
    finally:
        # Python finds the modules that were imported by their own names; the package is imported by whoever wants it.
        del sys.modules[package]


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
