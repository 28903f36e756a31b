"""What a request says of itself: alone, in an array of one, in what a rule or a pipe passes on, or by HTTP."""

from __future__ import annotations

import json
from typing import Any

from oncekit.local.http_request import received
from oncekit.local.picked_request import picked


def opened(given: Any) -> Any:
    """The request in an execution's input; the input itself where it is none that the state machine would open."""
    request = picked(received(given[0] if isinstance(given, list) and len(given) == 1 else given))
    in_envelope = isinstance(request, dict) and set(request) == {"body"} and isinstance(request["body"], dict)
    return request["body"] if in_envelope else request


def id_of(given: Any) -> str | None:
    """The id that the request in an execution's input is about; None where it does not say."""
    request = opened(given)
    if not isinstance(request, dict) or not {"operation", "idempotencyKey"} <= set(request):
        return None
    parts = (request.get("tenant", "default"), request["operation"], request["idempotencyKey"])
    if not all(isinstance(each, str) for each in parts) or "#" in parts[0] + parts[1]:
        return None  # with a # in its tenant it would seem to be of another request's id
    return "#".join(parts)


def id_in(text: str) -> str | None:
    """The id that an execution's input, as text, is about; None where it does not say."""
    try:
        return id_of(json.loads(text))
    except (ValueError, RecursionError):
        return None
