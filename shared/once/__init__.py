"""Once: turns a plain function into an operation whose effect happens once.

from once import Request, operation

@operation(schema=Path(__file__).with_name("schema.json"))
def handler(request: Request) -> JSON: ...
"""

from typing import TYPE_CHECKING

from once.errors import (
    ConditionFailed,
    InvalidEventError,
    InvalidWriteError,
    LockLostError,
    NeedsAttention,
    OnceError,
    PermanentError,
    Refusal,
    StepConflictError,
    StepMismatchError,
    TicketError,
    WriteInDoubtError,
)
from once.lock import Lock
from once.operation import operation
from once.request import Request
from once.result import JSON, Pending

if TYPE_CHECKING:
    from once.outcome import Failure, Outcome, Refused
    from once.ticket_writes import TicketState, complete, extend, fail

__all__ = [
    "JSON",
    "ConditionFailed",
    "Failure",
    "InvalidEventError",
    "InvalidWriteError",
    "Lock",
    "LockLostError",
    "NeedsAttention",
    "OnceError",
    "Outcome",
    "Pending",
    "PermanentError",
    "Refusal",
    "Refused",
    "Request",
    "StepConflictError",
    "StepMismatchError",
    "TicketError",
    "TicketState",
    "WriteInDoubtError",
    "complete",
    "extend",
    "fail",
    "operation",
]


def __getattr__(name: str) -> object:
    """What ends a pending operation needs clients, which most functions do without: it is imported on first use."""
    if name in ("TicketState", "complete", "extend", "fail"):
        from once import ticket_writes

        return getattr(ticket_writes, name)
    if name in ("Failure", "Outcome", "Refused"):
        from once import outcome

        return getattr(outcome, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
