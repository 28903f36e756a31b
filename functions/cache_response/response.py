"""The event of the state `CacheResponse`: a result as text, or a plain function's result as a value."""

from dataclasses import dataclass

from once import InvalidEventError
from once.result import serialise


@dataclass(frozen=True, slots=True)
class Response:
    id: str
    fence: int
    owner: str
    text: str
    """The result as exact JSON text."""
    bucket: str
    """Where it goes."""
    retention_days: int
    """For how long the record refers to it."""
    inline_bytes: int = 0
    """How large it may be to be kept in the record; a text that comes as such does not fit there."""

    @classmethod
    def of(cls, event: object) -> "Response":
        """Reads `{id, fence, owner, text, responseBucket, retentionDays}`, or `value` and `inlineBytes` for `text`.

        Raises InvalidEventError.
        """
        match event:
            case {
                "id": str(id),
                "fence": int() | float() as fence,
                "owner": str(owner),
                "responseBucket": str(bucket),
                "retentionDays": int() | float() as days,
                **rest,
            }:
                match rest:
                    case {"text": str(text)}:
                        return cls(id, int(fence), owner, text, bucket, int(days))
                    case {"value": value, "inlineBytes": int() | float() as inline}:
                        return cls(id, int(fence), owner, serialise(value), bucket, int(days), int(inline))
        raise InvalidEventError(
            "event must have id, owner, responseBucket, fence and retentionDays (whole numbers), and text"
            " (a string) or value and inlineBytes (a whole number)"
        )
