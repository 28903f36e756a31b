"""A broken promise, as every rule of the checker tells it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """A broken promise. `kind` is what it amounts to: `stuck`, `lost`, `twice`, or `broken` for any other."""

    promise: str
    kind: str
    what: str

    def __str__(self) -> str:
        return f"{self.promise} ({self.kind}): {self.what}"
