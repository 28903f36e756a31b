"""What the state `CacheResponse` hands over: a result as text, or a plain function's result that has no text yet."""

from dataclasses import dataclass

from once import InvalidEventError
from once.result import serialise


@dataclass(frozen=True, slots=True)
class Response:
    id: str
    tenant: str
    fence: int
    text: str
    """The result as exact JSON text."""

    @classmethod
    def of(cls, event: object) -> "Response":
        """Reads `{id, tenant, fence, text}` or `{id, tenant, fence, value}`. Raises InvalidEventError."""
        match event:
            case {"id": str(id), "tenant": str(tenant), "fence": int() | float() as fence, "text": str(text)}:
                return cls(id, tenant, int(fence), text)
            case {"id": str(id), "tenant": str(tenant), "fence": int() | float() as fence, "value": value}:
                return cls(id, tenant, int(fence), serialise(value))
        raise InvalidEventError("event must have id, tenant, fence (a whole number), and text (a string) or value")
