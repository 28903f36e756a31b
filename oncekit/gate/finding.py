"""What a check has found."""

from __future__ import annotations

from dataclasses import dataclass


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
