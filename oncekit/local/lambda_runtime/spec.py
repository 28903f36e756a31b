"""The data of a function, and of one invocation of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class FunctionSpec:
    """A function as it is registered. `timeout` in seconds, `memory` in MiB, `concurrency` None for no cap."""

    code: Path
    handler: str = "app.handler"
    timeout: float = 30
    environment: Mapping[str, str] = field(default_factory=dict)
    memory: int = 256
    concurrency: int | None = None
    python_path: tuple[Path, ...] = ()
    """Folders after the code's own on the import path: the layers."""
    role: str | None = None
    """ARN of the role whose policies its calls are checked against; None for no check."""


@dataclass(frozen=True)
class Invocation:
    """One start of a function. Times in epoch seconds; `outcome` is `succeeded`, an error type, or `running`."""

    request_id: str
    function: str
    event: Any
    started_at: float
    ended_at: float | None
    outcome: str
