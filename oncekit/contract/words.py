"""Words that Once writes, and that its tools look for."""

from __future__ import annotations

OPERATOR = ":operator-"
"""In an owner: no execution, but an operator, who has the lock until the next execution takes it over."""
TICKET = "ticket:"
"""How an owner begins that is no execution, but work elsewhere, which ended the operation with its ticket."""
RELEASED = "ReleasedByOperator"
"""The error of a record whose lock an operator released: nothing failed, and a new request starts afresh."""
INDEX = "open-operations"
"""The index of the records that hold a lock."""
