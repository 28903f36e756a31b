"""Once: turns a plain function into an operation whose effect happens once.

from once import Request, operation

@operation(schema=Path(__file__).with_name("schema.json"))
def handler(request: Request) -> JSON: ...
"""

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
    WriteInDoubtError,
)
from once.lock import Lock
from once.operation import operation
from once.request import Request
from once.result import JSON

__all__ = [
    "JSON",
    "ConditionFailed",
    "InvalidEventError",
    "InvalidWriteError",
    "Lock",
    "LockLostError",
    "NeedsAttention",
    "OnceError",
    "PermanentError",
    "Refusal",
    "Request",
    "StepConflictError",
    "StepMismatchError",
    "WriteInDoubtError",
    "operation",
]
