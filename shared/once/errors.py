"""The errors of Once, and what the state machine does about each. It catches them by class name.

    OnceError
    ├── PermanentError          the operation failed for good: recorded, and replayed to every duplicate
    ├── NeedsAttention          only an operator can say how it ends: quarantined
    │   ├── InvalidWriteError   a step or write can never be made as it is asked for: the function wants mending
    │   └── StepMismatchError   a step was done by an earlier attempt, but means something else in this one
    ├── LockLostError           another owner has taken over: this one answers with the winner's result
    ├── ConditionFailed         a condition of the function's own writes did not hold; nothing was written
    ├── StepConflictError       other writers held a step's items for too long; nothing was written
    ├── WriteInDoubtError       put_once or apply_once was refused, but an earlier send of it may still be made
    ├── InvalidEventError       the event is not the state machine's: business logic was not started
    └── OutOfReachError         the function runs alone (`sam local invoke`), without the table or bucket that it needs

Business logic raises the first three, or classes of its own derived from them. Anything else it raises may or may not
have had an effect: the request's `onCrash` decides between another attempt and the operator. So business logic that
knows what a failed condition means (there is too little in stock) turns ConditionFailed into an error of its own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MESSAGE_LIMIT = 2_000
"""Characters of an error message that leave the function: a record and a Cause must stay small."""


class OnceError(Exception):
    """Base of everything that this library raises."""


class PermanentError(OnceError):
    """Trying again cannot help; the failure is the operation's answer."""


class NeedsAttention(OnceError):
    """The effect is unknown, or known and not to be repeated: an operator decides."""


class LockLostError(OnceError):
    """The lock of this attempt was taken over; nothing that it does now may count."""


class InvalidWriteError(NeedsAttention):
    """A step or a write that can never be made as it is asked for. Nothing was written."""


class StepMismatchError(NeedsAttention):
    """A step of this name was done by an earlier attempt, and meant something else then."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """One write whose condition did not hold."""

    action: int
    """Its place among the step's writes; the first is 1."""
    kind: str
    """Put, Update, Delete or ConditionCheck."""
    table: str
    target: Mapping[str, object]
    """The key; of a put the item. As the function gave it."""
    condition: str
    """With the names of attributes put in and the values left out."""
    item: Mapping[str, Any] | None
    """The item that is there, in plain Python; None when there is none, or when `return_item` did not ask for it."""

    def __str__(self) -> str:
        return f"action {self.action} ({self.kind} in {self.table}) on {self.condition or 'its key'}"


class ConditionFailed(OnceError):
    """Conditions of the function's own writes did not hold: nothing was written, and nothing will be, however late."""

    def __init__(self, what: str, refusals: Sequence[Refusal]) -> None:
        super().__init__(f"{what} was refused by {'; '.join(map(str, refusals))}")
        self.refusals = tuple(refusals)


class StepConflictError(OnceError):
    """Other writers kept a step's items busy for as long as it was tried. Nothing was written."""


class WriteInDoubtError(OnceError):
    """put_once or apply_once was refused, after an earlier send of the same call got no answer: that may still come.

    A step knows how to close such a send out; a single write has no record to do that in. Another attempt follows.
    """


class InvalidEventError(OnceError):
    """The function was invoked with an event that the state machine does not send."""


class OutOfReachError(OnceError):
    """The function runs alone, and the table or bucket of a call cannot be reached from there."""


# When a class derives from two of them, the one that can do least harm is named first.
CAUGHT_BY_NAME: tuple[type[OnceError], ...] = (LockLostError, NeedsAttention, PermanentError)


def as_caught(error: Exception) -> Exception:
    """The error as it leaves the function: exactly a class that the state machine knows, with a bounded message.

    A subclass becomes its base, named in the message (`CardDeclined: ...`). Any other error stays as it is, unless its
    message is too long to travel; then it becomes an `OnceError`.
    """
    message = str(error)
    for known in CAUGHT_BY_NAME:
        if isinstance(error, known):
            if type(error) is known and len(message) <= MESSAGE_LIMIT:
                return error
            return known(bounded(message if type(error) is known else f"{type(error).__name__}: {message}"))
    if len(message) > MESSAGE_LIMIT:
        return OnceError(bounded(f"{type(error).__name__}: {message}"))
    return error


def bounded(message: str) -> str:
    """The message, cut to `MESSAGE_LIMIT` characters with a mark that something is missing."""
    return message if len(message) <= MESSAGE_LIMIT else message[: MESSAGE_LIMIT - 4] + " ..."
