"""The request in what a rule or a pipe of `once new` passes on: what the state machines pick out of it.

That is `{"event" or "body": what came, "once": {operation, key, payload, onCrash}}`; key and payload are lists of
names, which lead to them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

EXACT = 2**53 - 1
LASTING = ("source", "detail-type", "detail")
"""The members of an event that stay when its producer sends it again; its id and time make another payload."""
_ONCE = {"operation", "key", "payload", "onCrash"}


def picked(given: Any) -> Any:
    """The request, without a key or a payload that is not there; the input itself where it is no such input."""
    once = given.get("once") if isinstance(given, dict) else None
    if not isinstance(once, dict) or not once.keys() <= _ONCE:
        return given
    came = given.keys() - {"once"}
    if came not in ({"event"}, {"body"}):
        return given
    key, payload = once.get("key"), once.get("payload")
    if not _is_path(key) or not _is_path(payload):
        return given
    value = given[came.pop()]
    found = {"idempotencyKey": _key(_at(key, value)), "payload": _at(payload, value)}
    if "event" in given and not payload:
        found["payload"] = lasting(value)
    request = {name: each for name, each in once.items() if name not in ("key", "payload")}
    return request | {name: each for name, each in found.items() if each is not None}


def lasting(event: Any) -> Any:
    """What of an event is its payload, where the whole of it is."""
    return {name: event[name] for name in LASTING if name in event} if isinstance(event, Mapping) else event


def _is_path(value: Any) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _at(path: Sequence[str], value: Any) -> Any:
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _key(value: Any) -> str | None:
    """A text as it is, a whole number as its digits."""
    is_whole = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= EXACT
    return str(int(value)) if is_whole and value == int(value) else value if isinstance(value, str) else None
