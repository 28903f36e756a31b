"""What business logic is given: the request, and the lock under which this attempt works."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from once.errors import InvalidEventError, InvalidWriteError
from once.lock import Lock
from once.result_store import LONGEST_RETENTION

if TYPE_CHECKING:
    from once.conditions import ConditionBase
    from once.result import JSON
    from once.step import Item, Step
    from once.step_log import StepLog

T = TypeVar("T")
_KINDS: dict[type, str] = {str: "a string", dict: "an object", int: "a whole number"}


@dataclass(slots=True)
class Memory:
    """What an attempt remembers of the effects that it has had."""

    step_log: "StepLog | None" = None
    applied: list[object] = field(default_factory=list)
    """The (table, key, name) of every apply_once."""


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
    retention_days: int = LONGEST_RETENTION
    """For how long the record refers to a large result. An event that does not say is answered for the longest."""
    reply_token: str | None = field(default=None, repr=False)
    """By which the state machine knows this attempt's reply. An event of the version before has none."""
    _memory: Memory = field(default_factory=Memory, init=False, repr=False, compare=False)

    @property
    def id(self) -> str:
        """`tenant#operation#idempotencyKey`, the key of the record."""
        return self.lock.id

    def provider_key(self, name: str) -> str:
        """An idempotency key to hand to an external provider: 64 hex digits, the same in all attempts at this id.

        `name` tells the calls of one operation apart, e.g. "charge" and "refund". The key is the same for as long as
        there are requests with this id, beyond RetentionDays, too: a provider that still knows it does nothing again.
        """
        if not name:
            raise ValueError("provider_key needs the name of the call, e.g. provider_key('charge')")
        return hashlib.sha256(json.dumps([self.id, name]).encode()).hexdigest()

    def step(self, name: str, write: "Callable[[Step], JSON]", *, meaning: str | None = None) -> "JSON":
        """Does a step of business logic once: what `write` asks for is written in one fenced transaction.

        `write(step)` calls `step.put`, `update`, `delete` and `check`, and returns the step's result: JSON of at most
        4,096 bytes as text. Nothing is written before it has returned. Then all of it is, together with the result in
        the record of the lock, or nothing. An attempt at a step that was done before gets that result, and `write` is
        not called. So whatever `write` reads or makes up (the time, an id, what is in stock) may differ from attempt to
        attempt; a look at the stock before the step, outside of `write`, would see what the step itself has taken.

        `name` matches `^[a-z][a-z0-9-]{0,39}$` and comes once in an attempt. `meaning` says what the step does, lest
        another one be taken for it: by default the qualified name of `write`; give it one that stays when the function
        may be renamed. Raises

        - ConditionFailed with what was refused, when a condition of the function's own does not hold: nothing is
          written, not by a send either whose answer was lost;
        - LockLostError when another owner has taken over: let it pass;
        - StepConflictError when others kept writing to the same items: another attempt will do;
        - InvalidWriteError, StepMismatchError when the function wants mending.

        The note is kept with the record: once the answer has expired (RetentionDays), the same id does its steps again.
        A condition of the step's own, e.g. that the order does not exist, holds beyond that.
        """
        from once.step_log import StepLog, meaning_of  # what a request does not need is not on its cold path

        if self._memory.step_log is None:
            from once.clients import client

            self._memory.step_log = StepLog(self.lock, client("dynamodb"))
        return self._memory.step_log.run(name, write, meaning or meaning_of(write))

    def put_once(self, table: str, item: "Item") -> bool:
        """Creates an item unless there is one with its key; what is there is left as it is.

        True when the item is this request's: created now, or by an earlier attempt, or by a write whose answer was
        lost. False when somebody else's is there. The item gets the request's id in `createdByRequest`, and keeps it:
        after RetentionDays the same id is executed again, finds its item, and gets True. Not fenced: an attempt that
        comes late may still create it. Raises InvalidWriteError; WriteInDoubtError when somebody else's item is there,
        but a send of this call, whose answer was lost, may still be made: let it pass, another attempt will do.
        """
        from once.clients import client
        from once.single_writes import put_once

        return put_once(client("dynamodb"), self.id, table, item)

    def apply_once(
        self,
        table: str,
        key: "Item",
        update: str,
        values: "Item | None" = None,
        names: Mapping[str, str] | None = None,
        *,
        condition: "ConditionBase | None" = None,
        name: str = "",
    ) -> bool:
        """Updates an item unless this request has: in the same write, its id goes into the item's `processedEvents`.

        True when the update was applied now, False when it had been before. The set keeps every id: it is for items
        that some hundred requests change, not for a counter that all do. Since it does, the same id that is executed
        again after RetentionDays gets False. Whoever updates one item twice in a request gives each update a `name`.

        Not fenced: what an earlier attempt has sent may come late. Raises ConditionFailed when the function's own
        condition does not hold, with the item that is there; WriteInDoubtError when a send of this call, whose answer
        was lost, may still be made: let it pass, another attempt will do; InvalidWriteError.
        """
        from once.clients import client
        from once.single_writes import apply_once

        update_of = (table, dict(key), name)
        if update_of in self._memory.applied:
            raise InvalidWriteError(
                f"two updates of one item in {table}: give each a name, apply_once(..., name='...')"
            )
        # A tenant has no colon, so no name makes one request's entry look like another's.
        event = f"{name}:{self.id}" if name else self.id
        applied = apply_once(client("dynamodb"), event, table, key, update, values, names, condition)
        self._memory.applied.append(update_of)
        return applied

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
            retention_days=_field(event, "retentionDays", int) if "retentionDays" in event else LONGEST_RETENTION,
            reply_token=_field(event, "replyToken", str) if "replyToken" in event else None,
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
