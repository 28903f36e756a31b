"""The rows of docs/verify-on-aws.md: one fact about AWS each, with the command that checks it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

NUMBERED = re.compile(r"\| V\d")
CELL = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True)
class Row:
    number: str
    """V79; nobody gives it to another fact."""
    fact: str
    why: str
    """Why AWS could differ from the local cloud."""
    how: str
    expected: str


def rows_of(page: Path) -> Mapping[str, Row]:
    """By number, in the page's order: what would hurt most comes first. Raises TypeError for one of other cells."""
    lines = page.read_text(encoding="utf-8").splitlines()
    cells = ([each.strip() for each in CELL.split(line)[1:-1]] for line in lines if NUMBERED.match(line))
    return {row.number: row for row in (Row(*each) for each in cells)}
