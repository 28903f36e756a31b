"""The errors of Once, and what the state machine does about each. It catches them by class name.

    OnceError
    ├── PermanentError      the operation failed for good: recorded, and replayed to every duplicate
    ├── NeedsAttention      only an operator can say how it ends: quarantined
    ├── LockLostError       another owner has taken over: this one answers with the winner's result
    └── InvalidEventError   the event is not the state machine's: business logic was not started

Business logic raises the first three, or classes of its own derived from them. Anything else it raises may or may not
have had an effect: the request's `onCrash` decides between another attempt and the operator.
"""

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


class InvalidEventError(OnceError):
    """The function was invoked with an event that the state machine does not send."""


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
