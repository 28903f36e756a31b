"""Why a cloud cannot be opened, besides its template. Here, so that a command which opens none does not import one."""

from __future__ import annotations


class EngineReplaced(RuntimeError):
    """The installed engine is not the one that was patched and tested."""


class PortInUseError(OSError):
    """Another program uses the port."""
