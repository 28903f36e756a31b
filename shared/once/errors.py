"""The errors of Once, and what the state machine does about each. It catches them by class name.

    OnceError
    ├── PermanentError          the operation failed for good: stored, and given to every duplicate
    ├── NeedsAttention          only an operator can decide how it ends: the request is quarantined until then
    │   ├── InvalidWriteError   a step or a write that is not possible in this form: fix the function
    │   └── StepMismatchError   an earlier attempt did a step of this name, but it meant something else
    ├── LockLostError           another owner took the lock over: this execution returns that owner's result
    ├── ConditionFailed         a condition of the function's own writes did not hold; nothing was written
    ├── StepConflictError       other writers kept changing a step's items; nothing was written
    ├── WriteInDoubtError       put_once or apply_once was refused, but an earlier call may still be applied
    ├── TicketError             the ticket is of no try that there is: nothing was written
    └── InvalidEventError       the event did not come from the state machine: business logic was not started

The owner is the execution that holds the lock. Business logic raises PermanentError, NeedsAttention and LockLostError,
or classes derived from them. After any other error it is not known whether there was an effect: the request's `onCrash`
decides between another attempt and an operator. So business logic that knows what a failed condition means (there is
too little in stock) should turn ConditionFailed into an error of its own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MESSAGE_LIMIT = 2_000
"""Characters of an error message that the function returns: a record and a Cause must stay small."""


class OnceError(Exception):
    """Base class of all errors that this library raises."""


class PermanentError(OnceError):
    """Another attempt cannot help: the failure is the operation's answer.

    `status` is what senders by HTTP get, 400 to 499; without one, or with any other number, 422. A class of your own
    can have it as an attribute.
    """

    status: int | None = None

    def __init__(self, *args: object, status: int | None = None) -> None:
        super().__init__(*args)
        if status is not None:
            self.status = status


class NeedsAttention(OnceError):
    """The effect is unknown, or must not be repeated: an operator decides how the operation ends."""


class LockLostError(OnceError):
    """Another execution took the lock of this attempt over; what this attempt does from now on must not count."""


class InvalidWriteError(NeedsAttention):
    """A step or a write that is not possible in this form, in any attempt. Nothing was written."""


class StepMismatchError(NeedsAttention):
    """An earlier attempt did a step of this name, and it meant something else then."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """One write whose condition did not hold."""

    action: int
    """Its position among the step's writes; the first is 1."""
    kind: str
    """Put, Update, Delete or ConditionCheck."""
    table: str
    target: Mapping[str, object]
    """The key, or for a put the item, as the function gave it."""
    condition: str
    """With the names of the attributes, but without the values."""
    item: Mapping[str, Any] | None
    """The existing item, in plain Python; None when there is none, or when `return_item` did not ask for it."""

    def __str__(self) -> str:
        return f"action {self.action} ({self.kind} in {self.table}) on {self.condition or 'its key'}"


class ConditionFailed(OnceError):
    """Conditions of the function's own writes did not hold: nothing was written or will be later."""

    def __init__(self, what: str, refusals: Sequence[Refusal]) -> None:
        super().__init__(f"{what} was refused by {'; '.join(map(str, refusals))}")
        self.refusals = tuple(refusals)


class StepConflictError(OnceError):
    """Other writers changed a step's items during every try. Nothing was written."""


class WriteInDoubtError(OnceError):
    """put_once or apply_once was refused, but an earlier call of it, without an answer, may still be applied.

    A step can make sure that such a call is never applied; a single write has no record to do that. Another attempt
    follows.
    """


class TicketError(OnceError):
    """The try that this ticket is of is over, was released, or never was: there is nothing to end. Nothing was written.

    A failed operation that is tried again, and one that was released and comes again, have another ticket.
    """


class InvalidEventError(OnceError):
    """The function was invoked with an event that the state machine would not send."""


# The order decides for a class that is derived from two of them: the first can do the least harm.
CAUGHT_BY_NAME: tuple[type[OnceError], ...] = (LockLostError, NeedsAttention, PermanentError)


def as_caught(error: Exception) -> Exception:
    """The error that the function raises: a class that the state machine knows, with a message of limited length.

    A subclass becomes its base class, and the message begins with its name (`CardDeclined: ...`). Before that stands
    the status of a PermanentError (`[402] CardDeclined: ...`), which the state machine takes off again. Any other error
    stays as it is, unless its message is too long; then it becomes an `OnceError`.
    """
    message = str(error)
    for known in CAUGHT_BY_NAME:
        if isinstance(error, known):
            status = _status(error)
            if type(error) is known and len(message) <= MESSAGE_LIMIT and not status:
                return error
            said = message if type(error) is known else f"{type(error).__name__}: {message}"
            return known(bounded(status + said))
    if len(message) > MESSAGE_LIMIT:
        return OnceError(bounded(f"{type(error).__name__}: {message}"))
    return error


def _status(error: Exception) -> str:
    """What stands before the message of an error that has a status for HTTP."""
    status = error.status if isinstance(error, PermanentError) else None
    return f"[{status}] " if isinstance(status, int) and 400 <= status <= 499 else ""


def bounded(message: str) -> str:
    """The message, cut to `MESSAGE_LIMIT` characters; " ..." shows that something is missing."""
    return message if len(message) <= MESSAGE_LIMIT else message[: MESSAGE_LIMIT - 4] + " ..."
