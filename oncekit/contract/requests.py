"""What a request says of itself: alone, in an array of one, in what a rule or a pipe passes on, or by HTTP."""

from __future__ import annotations

import json
from typing import Any

from oncekit.contract.http_request import received
from oncekit.contract.picked_request import picked


def opened(given: Any) -> Any:
    """The request in an execution's input; the input itself where it is none that the state machine would open."""
    request = picked(received(given[0] if isinstance(given, list) and len(given) == 1 else given))
    in_envelope = isinstance(request, dict) and set(request) == {"body"} and isinstance(request["body"], dict)
    return request["body"] if in_envelope else request


def scope_of(given: Any) -> str | None:
    """tenant#operation of the request in an execution's input, which need not have a key; None where it has none."""
    request = opened(given)
    parts = (request.get("tenant", "default"), request.get("operation")) if isinstance(request, dict) else ()
    # With a # in its tenant it would seem to be of another request's id.
    is_said = parts and all(isinstance(each, str) and "#" not in each for each in parts)
    return "#".join(map(str, parts)) if is_said else None


def id_of(given: Any) -> str | None:
    """The id that the request in an execution's input is about; None where it does not say."""
    if (scope := scope_of(given)) is None:
        return None
    key = opened(given).get("idempotencyKey")
    return f"{scope}#{key}" if isinstance(key, str) else None


def id_in(text: str) -> str | None:
    """The id that an execution's input, as text, is about; None where it does not say."""
    try:
        return id_of(json.loads(text))
    except (ValueError, RecursionError):
        return None


def names_nothing(text: str) -> bool:
    """Whether an execution's input is no request at all, such as an event of a function's own. False of no JSON."""
    try:
        request = opened(json.loads(text))
    except (ValueError, RecursionError):
        return False
    return not isinstance(request, dict) or not {"operation", "idempotencyKey", "once"} & request.keys()
