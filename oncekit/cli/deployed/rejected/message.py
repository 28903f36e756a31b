"""A message in the rejected-requests queue, as the state machines write it: the reason, and the request."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from oncekit.console.requests import id_of

IN_THE_EXECUTION = "read it from the execution"
"""What `inputOmitted` says where the execution that refused the request still has it."""


class UnreadableMessage(Exception):
    """It is none of the messages that the state machines send, or none that can be read."""


@dataclass(frozen=True)
class Rejected:
    """Why a request was refused, by which execution; `text` is the request, None where the message has not got it."""

    error: str
    message: str | None = field(compare=False)
    refused: str
    id: str | None
    text: str | None
    omitted: str | None
    """What the message says of a request that it has not got, and that no execution has either."""


def read(text: str) -> Rejected:
    """What a message says. A producer chose the request in it, down to its depth. Raises UnreadableMessage."""
    try:
        body = json.loads(text)
        if not isinstance(body, dict) or not all(isinstance(body.get(each), str) for each in ("error", "executionArn")):
            raise UnreadableMessage("it is not a message of Once")
        if not isinstance(body.get("message"), str | None):
            raise UnreadableMessage("it is not a message of Once")
        if "inputText" in body:  # what no queue takes as it is, a half of a character for one
            body["input"] = json.loads(body["inputText"])
        omitted = body.get("inputOmitted")
        return Rejected(
            error=body["error"],
            message=body.get("message"),
            refused=body["executionArn"],
            id=id_of(body["input"]) if "input" in body else _id_beside(body),
            text=_text(body["input"]) if "input" in body else None,
            omitted=omitted if isinstance(omitted, str) and omitted != IN_THE_EXECUTION else None,
        )
    except RecursionError as error:
        raise UnreadableMessage("it is nested too deep to be read") from error
    except (ValueError, TypeError) as error:
        raise UnreadableMessage("it is not a message of Once") from error


def _id_beside(body: dict[str, Any]) -> str | None:
    """The id that a message without its request may tell, so that its sender can be asked."""
    return body["id"] if isinstance(body.get("id"), str) else id_of(body)


def _text(request: Any) -> str:
    """As UTF-8, for escapes could make it too large to be started with; half a surrogate pair has only its escape."""
    return json.dumps(request, ensure_ascii=False).encode("utf-8", "backslashreplace").decode()
