"""cache_response: writes a result that is too large for the record to the response bucket, once and byte for byte."""

from typing import TypedDict

from once import clients  # noqa: F401 - loaded while Lambda starts the function, with all its CPU: every call needs it
from once.result_store import ResultRef, ResultStore
from response import Response


class Text(TypedDict):
    """A result that fits into the record."""

    text: str


def handler(event: object, context: object) -> ResultRef | Text:
    response = Response.of(event)
    if len(response.text) <= response.inline_bytes:
        return {"text": response.text}
    return ResultStore.deployed(response.bucket, response.retention_days).put(
        id=response.id, fence=response.fence, owner=response.owner, text=response.text
    )
