"""The deployed form of a resource of the template."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Deployed:
    """A resource: what Ref and GetAtt give, and what it was made of. One whose condition does not hold has no `ref`."""

    type: str
    properties: Mapping[str, Any]
    ref: str
    attributes: Callable[[str], str]
