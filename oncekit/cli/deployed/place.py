"""Where a deployed stack is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """A stack by its name, and how it is reached: None leaves profile and region to the environment."""

    stack: str
    profile: str | None = None
    region: str | None = None
