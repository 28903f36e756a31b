"""What business logic is given: the request, and the lock under which this attempt works."""

import hashlib
import json
from dataclasses import dataclass
from typing import Any, TypeVar

from once.errors import InvalidEventError

T = TypeVar("T")
_KINDS: dict[type, str] = {str: "a string", dict: "an object", int: "a whole number"}


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


@dataclass(frozen=True, slots=True)
class Request:
    """One wish to have an operation done, in the attempt that is being made at it."""

    operation: str
    tenant: str
    idempotency_key: str
    payload: dict[str, Any]
    """As the producer sent it; checked against the operation's schema before business logic sees it."""
    attempt: int
    """Starts of business logic for this id so far, this one included."""
    lock: Lock

    @property
    def id(self) -> str:
        """`tenant#operation#idempotencyKey`, the key of the record."""
        return self.lock.id

    def provider_key(self, name: str) -> str:
        """An idempotency key to hand to an external provider: 64 hex digits, the same in all attempts at this id.

        `name` tells the calls of one operation apart, e.g. "charge" and "refund".
        """
        if not name:
            raise ValueError("provider_key needs the name of the call, e.g. provider_key('charge')")
        return hashlib.sha256(json.dumps([self.id, name]).encode()).hexdigest()

    @classmethod
    def from_event(cls, event: object) -> "Request":
        """Reads the event that the state machine sends. Raises InvalidEventError that names the field."""
        if not isinstance(event, dict):
            raise InvalidEventError(
                "event must be an object: the function of an operation is invoked by the state machine"
            )
        lock = _field(event, "lock", dict)
        request = cls(
            operation=_field(event, "operation", str),
            tenant=_field(event, "tenant", str),
            idempotency_key=_field(event, "idempotencyKey", str),
            payload=_field(event, "payload", dict),
            attempt=_field(event, "attempt", int),
            lock=Lock(
                table=_field(lock, "table", str, inside="lock."),
                id=_field(lock, "id", str, inside="lock."),
                owner=_field(lock, "owner", str, inside="lock."),
                fence=_field(lock, "fence", int, inside="lock."),
                lease_expires_at=_field(lock, "leaseExpiresAt", int, inside="lock."),
            ),
        )
        if request.id != f"{request.tenant}#{request.operation}#{request.idempotency_key}":
            raise InvalidEventError("event.lock.id must be tenant#operation#idempotencyKey of the same event")
        return request


def _field(fields: dict[str, Any], name: str, kind: type[T], inside: str = "") -> T:
    value = fields.get(name)
    if kind is int and isinstance(value, float) and value.is_integer():
        value = int(value)  # JSON knows one kind of number: 3.0 is 3
    if not isinstance(value, kind) or isinstance(value, bool):
        problem = f"must be {_KINDS[kind]}" if name in fields else "is missing"
        raise InvalidEventError(
            f"event.{inside}{name} {problem}: the function of an operation is invoked by the state machine"
        )
    return value
