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


EXCUSES: tuple[Excuse, ...] = (
    Excuse(
        "single_writes",
        'ConditionExpression=" AND ".join(f"attribute_not_exists({name})" for name in names),',
        'ConditionExpression=" and ".join(f"attribute_not_exists({name})" for name in names),',
        "the local engines read the word in small letters, too; the code writes it as the pages of AWS do",
    ),
)
