"""The lock under which an attempt works."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Lock:
    """The lock of this attempt. `fence` grows by one with every acquisition, so it tells attempts apart."""

    table: str
    id: str
    owner: str
    """ARN of the execution that holds the lock."""
    fence: int
    lease_expires_at: int
    """Epoch seconds."""
