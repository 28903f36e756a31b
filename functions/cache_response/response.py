"""What the state `CacheResponse` hands over: a result as text, or a plain function's result that has no text yet."""

from dataclasses import dataclass

from once import InvalidEventError
from once.result import serialise
from once.result_store import LONGEST_RETENTION


@dataclass(frozen=True, slots=True)
class Response:
    id: str
    tenant: str
    fence: int
    owner: str
    text: str
    """The result as exact JSON text."""
    retention_days: int
    """For how long the record refers to it."""

    @classmethod
    def of(cls, event: object) -> "Response":
        """Reads `{id, tenant, fence, owner, text, retentionDays}`, or `value` in place of `text`.

        A version that does not tell the days is answered for the longest. Raises InvalidEventError.
        """
        match event:
            case {"id": str(id), "tenant": str(tenant), "fence": int() | float() as fence, "owner": str(owner), **rest}:
                days = int(rest.get("retentionDays", LONGEST_RETENTION))
                match rest:
                    case {"text": str(text)}:
                        return cls(id, tenant, int(fence), owner, text, days)
                    case {"value": value}:
                        return cls(id, tenant, int(fence), owner, serialise(value), days)
        raise InvalidEventError(
            "event must have id, tenant, fence (a whole number), owner, and text (a string) or value"
        )
