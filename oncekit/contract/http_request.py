"""The request in the input of an execution that the HTTP API started: what the state ReadRequest makes of it."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import unquote_plus

_EXACT = 2**53
_QUOTED = re.compile(r'"((?:[^"\\]|\\["\\])*)"')
_WAIT = re.compile(r"(?:^|,)\s*wait\s*=\s*[0-9]{1,6}\s*(?:,|;|$)")
_ASYNC = re.compile(r"(?:^|,)\s*respond-async\s*(?:,|;|$)")


def received(given: Any) -> Any:
    """The request, if the input is one of the API's that can be read; otherwise the input."""
    http = given["http"] if isinstance(given, dict) and set(given) == {"http"} else None
    if not isinstance(http, dict) or not all(isinstance(value, str) for value in http.values()):
        return given
    texts = {name: unquote_plus(value) for name, value in http.items()}
    try:
        payload = json.loads(texts.get("body", ""), parse_int=_double)
    except (ValueError, RecursionError):
        return given
    prefer = texts.get("prefer", "").lower()
    waits = _WAIT.search(prefer) and not _ASYNC.search(prefer)
    policy = {name: texts[name] for name in ("onConflict", "onCrash", "onFailed") if texts.get(name)}
    return {
        "operation": texts.get("operation"),
        "tenant": texts.get("tenant"),
        "idempotencyKey": texts.get("idempotencyKey", _key(texts.get("key", ""))),  # an API of an application says it
        "payload": payload,
        **({"onConflict": "wait"} if waits else {}),
        **policy,
    }


def _key(header: str) -> str:
    if not header.startswith('"'):
        return header if header.isascii() else ""
    quoted = _QUOTED.fullmatch(header)
    return re.sub(r"\\([\"\\])", r"\1", quoted[1]) if quoted else ""


def _double(digits: str) -> int:
    """A number of JSON is a double to the state machine."""
    number = int(digits)
    return number if abs(number) <= _EXACT else int(float(digits))
