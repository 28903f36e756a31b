"""The local cloud: Once's own template on this machine, for tests and for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from local.clock import Clock, RealClock, VirtualClock
from local.execution import Execution

if TYPE_CHECKING:
    from local.cloud import LocalCloud

__all__ = ["Clock", "Execution", "LocalCloud", "RealClock", "VirtualClock"]


def __getattr__(name: str) -> Any:
    """LocalCloud on first use: what it needs takes a second to import."""
    if name == "LocalCloud":
        from local.cloud import LocalCloud

        return LocalCloud
    raise AttributeError(name)
