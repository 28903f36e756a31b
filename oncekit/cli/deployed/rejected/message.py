"""A message in the rejected-requests queue, as the state machines write it: the reason, and the request."""

from __future__ import annotations

import json
from dataclasses import dataclass

from oncekit.console.requests import id_of


class UnreadableMessage(Exception):
    """It is none of the messages that the state machines send, or none that can be read."""


@dataclass(frozen=True)
class Rejected:
    """Why a request was refused, by which execution; `text` is the request, None where the message has not got it."""

    error: str
    message: str | None
    refused: str
    id: str | None
    text: str | None
    omitted: str | None
    """What the message says of a request that it has not got."""


def read(text: str) -> Rejected:
    """What a message says. A producer chose the request in it, down to its depth. Raises UnreadableMessage."""
    try:
        body = json.loads(text)
        if "inputText" in body:  # what no queue takes as it is, a half of a character for one
            body["input"] = json.loads(body["inputText"])
        said = Rejected(
            error=body["error"],
            message=body.get("message"),
            refused=body["executionArn"],
            id=id_of(body["input"]) if "input" in body else body.get("id"),
            # As UTF-8, for escapes could make it too large to be started with; half a surrogate pair has only those.
            text=json.dumps(body["input"], ensure_ascii=False).encode("utf-8", "backslashreplace").decode()
            if "input" in body
            else None,
            omitted=body.get("inputOmitted"),
        )
    except RecursionError as error:
        raise UnreadableMessage("it is nested too deep to be read") from error
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise UnreadableMessage("it is not a message of Once") from error
    texts = (said.error, said.refused, said.message or "", said.id or "", said.omitted or "")
    if not all(isinstance(each, str) for each in texts):
        raise UnreadableMessage("it is not a message of Once")
    return said
