"""What becomes of a refused request that is started again, as far as that can be known before."""

from __future__ import annotations

import json

from oncekit.cli.deployed.fingerprint import fingerprints_of
from oncekit.cli.deployed.records import Missing, find, has_expired
from oncekit.cli.deployed.rejected_message import Rejected
from oncekit.cli.deployed.request_form import fault_of, why_unreadable
from oncekit.cli.deployed.stack import Stack
from oncekit.cli.problem import Problem

REFUSED_AGAIN = {
    "InvalidRequest": "it will be refused again unless another version is deployed now: send a corrected one",
    "PayloadMismatch": "it will be refused again unless the record is gone: its key belongs to another payload",
}
"""Of requests that are still what they were refused for, where no more is known."""


def no_input(stack: Stack, rejected: Rejected) -> str:
    """Why nobody has the request of a message."""
    if rejected.omitted is not None:
        return f"its request was not kept: {rejected.omitted}; then {_discard(rejected)}"
    is_fast = stack.fast_execution(rejected.refused) is not None
    gone = "was in the fast lane, which keeps none: ask its sender" if is_fast else "is gone"
    return f"its request is not in the message, which it did not fit into, and {rejected.refused} {gone}"


def why_deadly(rejected: Rejected, text: str) -> str | None:
    """Why no execution gets on with a request, whichever lane it is started in; None where nothing says so."""
    try:
        why = why_unreadable(json.loads(text))
    except RecursionError:
        why = "it is nested too deep"
    except ValueError:
        why = "it is not JSON"
    return why and (
        f"{why}; no execution can read it: ask its sender for another; when all that can be started have been, "
        f"{_discard(rejected)}"
    )


def _discard(rejected: Rejected) -> str:
    return f"`once replay-rejected --discard --error {rejected.error}` deletes it"


def why_refused_again(stack: Stack, rejected: Rejected, text: str) -> str | None:
    """Why a request is surely refused again; None where it may not be."""
    if rejected.error == "InvalidRequest":
        fault = fault_of(text)
        return fault and f"{fault}; it would be refused again: send a corrected one, and discard this one"
    if rejected.error != "PayloadMismatch" or rejected.id is None:
        return None
    try:
        record = find(stack, rejected.id)
    except Missing:
        return None
    except Problem:  # nobody knows what an odd record has
        return None
    if has_expired(stack, record) or record["fingerprint"] in fingerprints_of(text):
        return None
    return "it would be refused again: its key belongs to another payload; send it under another key, and discard this"
