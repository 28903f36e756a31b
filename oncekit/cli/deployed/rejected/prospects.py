"""What becomes of a refused request that is started again, as far as that can be known before."""

from __future__ import annotations

import json

from oncekit.cli.deployed.executions.attempts import log_group
from oncekit.cli.deployed.records.record import find, has_expired
from oncekit.cli.deployed.rejected.message import Rejected
from oncekit.cli.deployed.requests.fingerprint import is_other_payload
from oncekit.cli.deployed.requests.form import fault_of, why_unreadable
from oncekit.cli.deployed.stack import Stack, is_denied
from oncekit.cli.problem import Problem
from oncekit.console.requests import id_in


def no_input(stack: Stack, rejected: Rejected) -> str:
    """Why nobody has the request of a message."""
    if rejected.omitted is not None:
        return f"its request was not kept: {rejected.omitted}"
    is_fast = stack.fast_execution(rejected.refused) is not None
    gone = "was in the fast lane, which keeps none: ask its sender" if is_fast else "is gone"
    return f"its request is not in the message, which it did not fit into, and {rejected.refused} {gone}"


def why_refused_again(stack: Stack, rejected: Rejected, text: str) -> str | None:
    """Why a request surely gets no further, whichever lane it is started in; None where it may."""
    if why := _why_unreadable(text):
        return f"{why}; no execution can read it: ask its sender for another"
    if rejected.error == "InvalidRequest":
        fault = fault_of(text) or _no_function(stack, text)
        return fault and f"{fault}; it would be refused again"
    if rejected.error == "PayloadMismatch" and rejected.id is not None:
        is_mismatch = _is_mismatch(stack, rejected.id, text)
        return "its key belongs to another payload: it has to be sent under another key" if is_mismatch else None
    return None


def _why_unreadable(text: str) -> str | None:
    try:
        return why_unreadable(json.loads(text))
    except RecursionError:
        return "it is nested too deep"
    except ValueError:
        return "it is not JSON"


def _no_function(stack: Stack, text: str) -> str | None:
    from botocore.exceptions import ClientError

    try:
        if id := id_in(text):
            log_group(stack, id)
    except Problem as none:
        return str(none)
    except ClientError as error:  # who may not ask Lambda tries
        if not is_denied(error.response["Error"]["Code"]):
            raise
    return None


def _is_mismatch(stack: Stack, id: str, text: str) -> bool:
    try:
        record = find(stack, id)
    except Problem:  # there is none, or nobody knows what it has
        return False
    return not has_expired(stack, record) and is_other_payload(text, record["fingerprint"])
