"""What business logic gets: the request, and the lock that this attempt holds."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from once.errors import InvalidEventError, InvalidWriteError
from once.lock import Lock

if TYPE_CHECKING:
    from once.conditions import ConditionBase
    from once.result import JSON, Pending
    from once.step import Item, Step
    from once.step_log import StepLog
    from once.ticket import Ticket

T = TypeVar("T")
_KINDS: dict[type, str] = {str: "a string", dict: "an object", int: "a whole number"}


@dataclass(slots=True)
class Memory:
    """What an attempt remembers of its own effects."""

    step_log: "StepLog | None" = None
    applied: list[object] = field(default_factory=list)
    """The (table, key, name) of every apply_once."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request to execute an operation, in one attempt at it."""

    operation: str
    tenant: str
    idempotency_key: str
    payload: dict[str, Any]
    """As the producer sent it; checked against the operation's schema before business logic sees it."""
    attempt: int
    """How often business logic was started for this id, including this time."""
    lock: Lock
    retention_days: int
    """How many days the record refers to a large result."""
    response_bucket: str
    """Where a large result is stored."""
    reply_token: str = field(repr=False)
    """The state machine recognises this attempt's reply by it."""
    _memory: Memory = field(default_factory=Memory, init=False, repr=False, compare=False)

    @property
    def id(self) -> str:
        """`tenant#operation#idempotencyKey`, the key of the record."""
        return self.lock.id

    def provider_key(self, name: str) -> str:
        """An idempotency key to hand to an external provider: 64 hex digits, the same in all attempts at this id.

        `name` distinguishes several calls of one operation, e.g. "charge" and "refund". The key stays the same for
        requests with this id, also after RetentionDays: a provider that still knows it does nothing a second time.
        """
        if not name:
            raise ValueError("provider_key needs the name of the call, e.g. provider_key('charge')")
        return hashlib.sha256(json.dumps([self.id, name]).encode()).hexdigest()

    def step(self, name: str, write: "Callable[[Step], JSON]", *, meaning: str | None = None) -> "JSON":
        """Does a step of business logic once: writes everything that `write` collects in one fenced transaction.

        Fenced: the transaction fails if another execution has taken the lock over. `write(step)` calls
        `step.put`, `update`, `delete` and `check`, and returns the step's result: JSON of at most 4,096 bytes as text.
        Nothing is written until it returns. Then either all writes happen, together with a note of the result in the
        record of the lock, or none. If an earlier attempt did the step, this attempt gets that result, and `write` is
        not called. So whatever `write` reads or generates (the time, an id, the stock) may differ from attempt to
        attempt. Do not read the stock before the step, outside of `write`: a second attempt would see what is left.

        `name` matches `^[a-z][a-z0-9-]{0,39}$` and is used once in an attempt. `meaning` states what the step does, so
        that no other step is mistaken for it. It is the qualified name of `write` by default; give your own if the
        function may be renamed. Raises

        - ConditionFailed, with the refused writes, when one of your own conditions does not hold: nothing is written,
          not even later by a call whose answer was lost;
        - LockLostError when another owner has taken the lock over: do not catch it;
        - StepConflictError when others kept writing to the same items: another attempt follows;
        - InvalidWriteError, StepMismatchError when the function has to be fixed.

        The note is kept in the record: after the answer has expired (RetentionDays), the same id does its steps again.
        A condition of your own, e.g. that the order does not exist yet, also holds after that.
        """
        from once.step_log import StepLog, meaning_of  # what a request does not need is not on its cold path

        if self._memory.step_log is None:
            from once.clients import client

            self._memory.step_log = StepLog(self.lock, client("dynamodb"))
        return self._memory.step_log.run(name, write, meaning or meaning_of(write))

    def put_once(self, table: str, item: "Item") -> bool:
        """Creates an item unless there is one with its key; an existing item is not changed.

        True when the item is this request's: created now, by an earlier attempt, or by a write whose answer was lost.
        False when another request or program created it. The item gets the request's id in `createdByRequest`, and
        keeps it: when the same id is executed again after RetentionDays, it finds its item and gets True. Not fenced:
        an attempt that has lost the lock may still create it. Raises InvalidWriteError; WriteInDoubtError when there is
        an item of somebody else, but an earlier call whose answer was lost may still be applied: do not catch it,
        another attempt follows.
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

        True when the update was applied now, False when it was applied before. The set keeps every id. So use it for
        items that some hundred requests change, not for a counter that all requests change; and the same id, executed
        again after RetentionDays, gets False. To update one item twice in a request, give each update a `name`.

        Not fenced: what an earlier attempt sent may be applied late. Raises ConditionFailed, with the existing item,
        when your own condition does not hold; WriteInDoubtError when an earlier call whose answer was lost may
        still be applied: do not catch it, another attempt follows; InvalidWriteError.
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

    @property
    def ticket(self) -> str:
        """What whoever does the work elsewhere passes to `complete`, `fail` and `extend`: letters, digits, - and _.

        The same in all attempts of a try; a failed operation that is tried again has another one. It has the key of the
        request, readable, and is no secret: who knows the payload can compute it.
        """
        return str(self._ticket())

    @property
    def work_name(self) -> str:
        """A name for the work elsewhere, by which a later attempt finds it: 64 hex digits, the same in all of a try.

        For instance of an execution of Step Functions: to start it a second time is then refused.
        """
        return self._ticket().work_name

    def pending(self, seconds: int) -> "Pending":
        """For business logic to return: the work goes on elsewhere, and should have ended in this number of seconds.

        Until then nobody works on the operation or starts it again, and duplicates are told that it is in progress. It
        ends by its ticket. If it does not in time, `onCrash` decides between another attempt and quarantine; the ticket
        ends it even then. A whole number, at most 90 days, and 150 days after the try began: raises InvalidWriteError.
        """
        from once.result import Pending

        # No attempt lasts longer than its lease.
        self._ticket().until(seconds, self.lock.lease_expires_at)
        return Pending(seconds)

    def _ticket(self) -> "Ticket":
        from once.ticket import Ticket

        return Ticket(self.lock.table, self.response_bucket, self.retention_days, self.lock.ticket)

    @classmethod
    def from_event(cls, event: object) -> "Request":
        """Reads the event that the state machine sends. Raises InvalidEventError that names the field."""
        if not isinstance(event, dict):
            raise InvalidEventError(
                "event must be an object: the function of an operation is invoked by the state machine"
            )
        if "lock" not in event:
            raise InvalidEventError(
                "event.lock is missing: this is a payload alone, or no event of the state machine. An operation in "
                "PayloadOnlyOperations gets its payload alone, and so does, to its end, an execution that began while "
                "its operation was there; once it is quarantined, `once retry ID` starts it with the request"
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
                ticket=_field(lock, "ticket", str, inside="lock."),
            ),
            retention_days=_field(event, "retentionDays", int),
            response_bucket=_field(event, "responseBucket", str),
            reply_token=_field(event, "replyToken", str),
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
