"""Mutants of the library that no test can catch, each with its reason. One that nothing needs is a finding."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Excuse:
    """A change of one place: the lines that are taken out and put in, each without its margin, joined by spaces."""

    module: str
    removed: str
    added: str
    reason: str


EXCUSES: tuple[Excuse, ...] = ()
