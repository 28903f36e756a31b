"""The deployed form of a resource of the template."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Deployed:
    """A resource: its Ref, its attributes and its properties. If its condition is false, it has no `ref`."""

    type: str
    properties: Mapping[str, Any]
    ref: str
    attributes: Callable[[str], str]
    is_run: bool = True
    """False for what is only named, because the local cloud does not know its type."""
