"""Refused requests, objects in the stack's bucket: listed, started again, or deleted; one goes only after its start."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

from oncekit.contract.operation_functions import OperationFunctions
from oncekit.contract.requests import id_of, scope_of
from oncekit.problem import Problem
from oncekit.stack.records import find, has_expired
from oncekit.stack.stack import Stack

PREFIX = "rejected/"
_TIME = re.compile(rf"{PREFIX}(\d{{4}}-\d\d-\d\dT\d\d)-(\d\d)-(\d\d)")
CAN_START, STARTED, DELETED = "CAN_START", "STARTED", "DELETED"
REFUSED_AGAIN, NO_INPUT, UNREADABLE = "REFUSED_AGAIN", "NO_INPUT", "UNREADABLE"
STUCK = (REFUSED_AGAIN, NO_INPUT, UNREADABLE)
"""Outcomes of requests that nobody can start: they stay until they are deleted."""
Doing = Literal["list", "start", "delete"]
Handled = dict[str, Any]
"""{key, id, operation, error, message, refusedAt, refusedBy, outcome, executionArn, reason} of a request."""


@dataclass(frozen=True)
class Rejected:
    """Why a request was refused, by which execution; `text` is the request, None where it was not kept.

    `scope` is tenant#operation, which one without a key may have, too.
    """

    key: str
    error: str
    message: str
    refused_by: str | None = None
    id: str | None = None
    scope: str | None = None
    text: str | None = None


def handle(
    stack: Stack,
    doing: Doing,
    error: str | None = None,
    wants: Callable[[str | None], bool] = lambda _id: True,
    limit: int | None = None,
    last: str | None = None,
) -> dict[str, Any]:
    """List refused requests, the oldest first, start those again that can succeed, or delete them: those with this
    error about an id that is wanted, and no newer one than the `last`, by its key.

    {requests: [Handled, ...], isComplete}; complete when there are no more. At most `limit` are listed or deleted; when
    starting, at most `limit` are started, however many older ones are passed over, so that these hide none. Of each,
    `id` is None where the request has none, `refusedBy` the execution that refused it. `wants` is asked with its id, or
    tenant#operation without a key.
    """
    every = (each for each in refused(stack) if last is None or each.key <= last)
    asked = (each for each in every if error in (None, each.error) and wants(each.id or each.scope))
    found: list[Handled] = []
    left = limit
    while left != 0 and (each := next(asked, None)):
        found.append(_handled(stack, each, doing))
        if left is not None and (doing != "start" or found[-1]["outcome"] == STARTED):
            left -= 1
    return {"requests": found, "isComplete": next(asked, None) is None}


def time_of(key: str) -> str | None:
    """When the request came, as its key says; None for a key of another form."""
    found = _TIME.match(key)
    return "{}:{}:{}Z".format(*found.groups()) if found else None


def keys_of(stack: Stack) -> Iterator[str]:
    """The oldest first, for keys begin with the time."""
    return stack.objects(PREFIX)


def refused(stack: Stack) -> Iterator[Rejected]:
    """All that are there now, the oldest first."""
    for key in list(keys_of(stack)):  # at once: what is refused again meanwhile is not of these
        if found := _find(stack, key):  # else somebody else has handled it
            yield found


def shown(stack: Stack, key: str) -> dict[str, Any]:
    """One by its key, as it is listed, and what was kept of it: `input`, as text. Raises Problem."""
    if (found := _find(stack, key)) is None:
        raise Problem(f"{key}: no such refused request is kept; `once ls --rejected` lists them")
    return {**_handled(stack, found, "list"), "input": found.text}


def newest(stack: Stack, id: str, most: int | None = None) -> Rejected | None:
    """The last request with an id that was refused and is kept; it is looked for among the newest `most` of all."""
    looked = (_find(stack, key) for key in list(keys_of(stack))[::-1][:most])
    return next((each for each in looked if each and each.id == id), None)


def _find(stack: Stack, key: str) -> Rejected | None:
    client = stack.client("s3")
    try:
        return _read(key, client.get_object(Bucket=stack.bucket, Key=key)["Body"].read())
    except client.exceptions.NoSuchKey:
        return None


def _read(key: str, body: bytes) -> Rejected:
    try:
        told = json.loads(body)
        found = Rejected(key, str(told["error"]), str(told["message"]), str(told["executionArn"]))
        if "input" not in told:
            id = str(told["id"]) if "id" in told else None
            return replace(found, id=id, scope=id and "#".join(id.split("#")[:2]))
        # As UTF-8, for escapes could make it too large to be started with; half a surrogate pair has only those.
        text = json.dumps(told["input"], ensure_ascii=False).encode("utf-8", "backslashreplace").decode()
        return replace(found, id=id_of(told["input"]), scope=scope_of(told["input"]), text=text)
    except (ValueError, TypeError, KeyError, RecursionError):
        return Rejected(key, UNREADABLE, "this object is no request that Once refused, or is nested too deep")


def _handled(stack: Stack, rejected: Rejected, doing: Doing) -> Handled:
    outcome, reason = (DELETED, None) if doing == "delete" else _prospect(stack, rejected)
    execution = _start(stack, rejected) if doing == "start" and outcome == CAN_START else None
    if execution or outcome == DELETED:
        stack.client("s3").delete_object(Bucket=stack.bucket, Key=rejected.key)
    return {
        "key": rejected.key,
        "id": rejected.id,
        "operation": rejected.scope and rejected.scope.partition("#")[2],
        "error": rejected.error,
        "message": rejected.message,
        "refusedAt": time_of(rejected.key),
        "refusedBy": rejected.refused_by,
        "outcome": STARTED if execution else outcome,
        "executionArn": execution,
        "reason": reason,
    }


def _prospect(stack: Stack, rejected: Rejected) -> tuple[str, str | None]:
    """What would become of it, and why where it cannot be started."""
    if rejected.refused_by is None:
        return UNREADABLE, f"look at it in the bucket: {rejected.key}"
    if rejected.text is None:
        return NO_INPUT, f"its request was not kept: ask its sender, or look at {rejected.refused_by}"
    id, again = rejected.id or "##", None
    if rejected.error == "InvalidRequest" and "has no function" not in rejected.message:
        again = "it would be refused again: its sender has to correct it"
    elif rejected.error == "InvalidRequest" and not OperationFunctions.of(stack.outputs).function_of(id.split("#")[1]):
        again = "it would be refused again: deploy the function, and name it in Operations"
    elif rejected.error == "PayloadMismatch" and _has_record(stack, id):
        again = "its key belongs to another payload"
    return (REFUSED_AGAIN, again) if again else (CAN_START, None)


def _has_record(stack: Stack, id: str) -> bool:
    try:
        return not has_expired(stack, find(stack, id))
    except Problem:
        return False


def _start(stack: Stack, rejected: Rejected) -> str:
    """The execution, named by the object: one that could not be deleted starts no more."""
    client = stack.client("stepfunctions")
    name = f"replay-{hashlib.sha256(rejected.key.encode()).hexdigest()[:40]}"
    try:
        started = client.start_execution(stateMachineArn=stack.start_at, name=name, input=rejected.text)
    except client.exceptions.ExecutionAlreadyExists:
        return stack.execution(name)
    return str(started["executionArn"])
