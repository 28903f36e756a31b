"""What a check has found."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from oncekit.gate.project import Project


@dataclass(frozen=True, order=True)
class Finding:
    """One fault, in one line: what is wrong, why it is wrong on AWS, and what to do."""

    file: str
    """As it is called beside the template."""
    where: str
    """A state, or a resource or parameter of the template; empty for a file as a whole."""
    text: str

    def __str__(self) -> str:
        return ": ".join(part for part in (self.file, self.where, " ".join(self.text.split())) if part)


Check = Callable[["Project"], Iterable[Finding]]
