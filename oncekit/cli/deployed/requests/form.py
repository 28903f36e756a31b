"""The form of a request, looked at before it is sent to where nobody is told that it was refused."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from math import isinf
from typing import Any

from oncekit.console.requests import is_deeper, opened

DEEPEST = 11
"""Levels of a request: ten of the payload, and its own."""
FUNCTIONS = ("_jsonata_lambda", "_jsonata_function")
"""An object in which one of these is true is a function to JSONata."""
NAMES = ("operation", "tenant", "idempotencyKey")
UNSEEN = (
    "has a control character, a line separator, a character that changes the direction of text or one that cannot be "
    "seen: use none of them"
)
_HALF = re.compile("[\ud800-\udfff]")


def fault_of(text: str) -> str | None:
    """Why the state machine refuses a request, as far as its form says; None where nothing is wrong with it."""
    from once.schema_faults import schema_faults  # slow to import

    request = opened(json.loads(text))
    if not isinstance(request, dict):
        return "it is not a JSON object"
    if is_deeper(request, DEEPEST):
        return "its payload is nested deeper than 10 levels"
    if unreadable := why_unreadable(request):
        return unreadable
    if _HALF.search(json.dumps(request, ensure_ascii=False)):
        return "it has half of a surrogate pair, which is not a character"
    schema = json.loads(files("once").joinpath("request.schema.json").read_text(encoding="utf-8"))
    unseen = re.compile(schema["properties"]["idempotencyKey"]["not"]["pattern"])
    if name := next((each for each in NAMES if unseen.search(str(request.get(each, "")))), None):
        return f"/{name} {UNSEEN}"
    return "; ".join(schema_faults(schema, request)) or None


def why_unreadable(value: Any) -> str | None:
    """What no expression of the state machine can read in a value; None where it can read all of it."""
    if isinstance(value, float) and isinf(value):
        return "it has a number that no double can hold: send it as a string"
    if isinstance(value, dict) and (name := next((each for each in FUNCTIONS if value.get(each) is True), None)):
        return f"it has a member called {name}, which Step Functions takes for a function: give it another name"
    members = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return next(filter(None, map(why_unreadable, members)), None)
