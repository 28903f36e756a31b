"""A ticket: what whoever does the work of a pending operation needs to end it, and for how long it may stay open.

It is a name, no secret: who knows the payload can compute it. Permissions decide who may use it.
"""

import base64
import hashlib
import json
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Final

from once.errors import InvalidWriteError, TicketError

DAY: Final = 86_400
LONGEST: Final = 90 * DAY
"""Seconds that an operation can be kept open at a time."""
LONGEST_IN_ALL: Final = 150 * DAY
"""Seconds since its try began: the request of another attempt is kept for 180 days."""


@dataclass(frozen=True, slots=True)
class Ticket:
    """Of one try of one operation: the same in all attempts of the try, and another one for the next try."""

    table: str
    bucket: str
    days: int
    """RetentionDays: how long the record keeps the answer."""
    of: str
    """`acquiredAt fingerprint id`, as the state machine made it."""

    @classmethod
    def read(cls, text: str) -> "Ticket":
        """Raises TicketError for what is no ticket."""
        try:
            ticket = cls(**json.loads(base64.urlsafe_b64decode(text + "==")))
            if ticket.of.count(" ") >= 2:
                return ticket
        except (ValueError, TypeError, AttributeError):
            pass
        raise TicketError("this is no ticket: pass request.ticket on as it is")

    def __str__(self) -> str:
        """Letters, digits, - and _ only, so that it can stand in a link."""
        return base64.urlsafe_b64encode(json.dumps(asdict(self), separators=(",", ":")).encode()).decode().rstrip("=")

    @property
    def work_name(self) -> str:
        """64 hex digits; not of the settings of the stack, which may change between two attempts."""
        return hashlib.sha256(self.of.encode("utf-8", "surrogatepass")).hexdigest()

    @property
    def acquired_at(self) -> str:
        """When the try began, as in the record."""
        return self.of.split(" ", 2)[0]

    @property
    def fingerprint(self) -> str:
        return self.of.split(" ", 2)[1]

    @property
    def id(self) -> str:
        return self.of.split(" ", 2)[2]

    def until(self, seconds: int, now: float) -> int:
        """`seconds` from now on, in epoch seconds. Raises InvalidWriteError beyond the limits."""
        if type(seconds) is not int or not 0 < seconds <= LONGEST:
            raise InvalidWriteError(
                f"an operation can be pending for a whole number of seconds, 1 to {LONGEST} (90 days), not {seconds!r}"
            )
        until = int(now) + seconds
        if until > datetime.fromisoformat(self.acquired_at).timestamp() + LONGEST_IN_ALL:
            raise InvalidWriteError(
                f"{self.id} cannot be pending for {seconds} more seconds: its try began at {self.acquired_at}, and it "
                "can be pending until 150 days after that"
            )
        return until
