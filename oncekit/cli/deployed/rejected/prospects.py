"""Why a refused request surely gets no further, however it is started again; None where it may."""

from __future__ import annotations

import json

from oncekit.cli.deployed.executions.attempts import log_group
from oncekit.cli.deployed.records.record import find, has_expired
from oncekit.cli.deployed.rejected.message import Rejected
from oncekit.cli.deployed.requests.form import fault_of, why_unreadable
from oncekit.cli.deployed.stack import Stack, is_denied
from oncekit.cli.problem import Problem
from oncekit.console.requests import id_in


def why_refused_again(stack: Stack, rejected: Rejected, text: str) -> str | None:
    try:
        unreadable = why_unreadable(json.loads(text))
    except RecursionError:
        unreadable = "it is nested too deep"
    except ValueError:
        unreadable = "it is not JSON"
    if unreadable:
        return f"{unreadable}; no execution can read it: ask its sender for another"
    if rejected.error == "InvalidRequest":
        fault = fault_of(text) or _no_function(stack, text)
        return fault and f"{fault}; it would be refused again"
    if rejected.error == "PayloadMismatch" and _has_record(stack, id_in(text) or ""):
        return "its key belongs to another payload: it has to be sent under another key"
    return None


def _no_function(stack: Stack, text: str) -> str | None:
    from botocore.exceptions import ClientError

    try:
        log_group(stack, id_in(text) or "##")
    except Problem as none:
        return str(none)
    except ClientError as error:  # who may not ask Lambda tries
        if not is_denied(error.response["Error"]["Code"]):
            raise
    return None


def _has_record(stack: Stack, id: str) -> bool:
    try:
        return not has_expired(stack, find(stack, id))
    except Problem:
        return False
