"""The lock under which an attempt works."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Lock:
    """The lock of this attempt. `fence` grows by one each time the lock is acquired."""

    table: str
    id: str
    owner: str
    """ARN of the execution that holds the lock."""
    fence: int
    lease_expires_at: int
    """Until when other executions treat the owner as alive without looking it up; epoch seconds."""
    ticket: str
    """`acquiredAt fingerprint id`: of this try, the same in all its attempts. `Request.ticket` is what is passed on."""
