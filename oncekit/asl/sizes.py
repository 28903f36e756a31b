"""The limit of 256 KiB for inputs, outputs, arguments, results and variables, as UTF-8 text.

A larger value fails with `States.DataLimitExceeded`.
"""

from __future__ import annotations

import json
from typing import Any

from oncekit.asl.errors import DATA_LIMIT, StateError

MAX_BYTES = 262_144
OF_A_TASK_BYTES = MAX_BYTES - 1024
"""What a Task may pass on to the next state. "Internal metadata pushes the total payload over the limit" of an answer
just under it: the Task succeeds, and the execution ends at the transition, where no Catch sees it (seen on AWS:
cdklabs/construct-hub#1885). How much metadata that is, and whether other states have it, is unconfirmed.
"""
MAX_EVENTS = 25_000
"""Of the history of a Standard execution: with the last of them it fails."""


def text_of(value: Any) -> str:
    """A value as the JSON text that Step Functions passes on."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, default=str)


def is_within(text: str, most: int = MAX_BYTES) -> bool:
    """Whether a text can be passed on."""
    return len(text) <= most and len(text.encode("utf-8", "surrogatepass")) <= most


def exceeded(what: str) -> StateError:
    """The error of data that is too large."""
    return StateError(DATA_LIMIT, f"{what} with a size exceeding the maximum number of bytes service limit.")
