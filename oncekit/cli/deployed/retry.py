"""`once retry`: a quarantined or pending operation, or a refused request, starts again."""

from __future__ import annotations

from collections.abc import Mapping
from shlex import quote
from typing import Annotated, Any

import typer

from oncekit.cli.deployed import rejected_lines
from oncekit.cli.deployed.on_stack import answered, on_stack
from oncekit.cli.options import Because, Json, OptionalId, Profile, Refusal, Region, StackName
from oncekit.cli.terminal import Entry
from oncekit.problem import Problem
from oncekit.stack import decisions
from oncekit.stack import rejected as refused
from oncekit.stack.records import Changed, Missing
from oncekit.stack.rejected import STUCK
from oncekit.stack.session import Place
from oncekit.stack.stack import Stack

MEANS_RETRY = "Its request starts again, unchanged, under a higher fence; finished steps are kept."
WAS_PENDING = (
    "It was pending: work elsewhere that has begun goes on, and its ticket, the same as before, still ends the "
    "operation. It happens once if it is named by that ticket."
)
NO_RECORD = "it is kept with a record, and a refused request has none"
Limit = Annotated[int, typer.Option("--limit", metavar="N", min=1, help="With --rejected: start N requests at most.")]


def retry(
    id: OptionalId = None,
    rejected: Annotated[
        bool, typer.Option("--rejected", help="Start the refused requests again that can succeed.")
    ] = False,
    error: Refusal = None,
    limit: Limit = 1000,
    because: Because = None,
    as_json: Json = False,
    stack: StackName = "once",
    profile: Profile = None,
    region: Region = None,
) -> int:
    """Start a quarantined, pending, overdue or refused request again.

    Starts its own request, unchanged. Attempts are counted from the beginning, finished steps are kept. If the command
    is interrupted, the next sweep of recovery starts the request.

    A pending operation need not have run out: nobody is at work on it here. Work elsewhere is not stopped, and still
    ends the operation with its ticket, the same as before.

    If nothing is quarantined, pending or overdue under the id, but a request with it was refused, that one is started;
    with --rejected all refused requests are. None is started that is known to be refused again: it stays, and its
    reason is shown; then the exit code is 1. A refused request is deleted only after it was started.

    JSON: {id, executionArn, fence, wasPending}; of refused requests {requests: [{key, id, operation, error, message,
    refusedAt, refusedBy, outcome, executionArn, reason}], isComplete}: `key` is that of the object in the bucket.
    """
    if (id is None) != rejected:
        raise Problem("give the id of an operation, or --rejected for refused requests")
    if error is not None and not rejected:
        raise Problem("--error: it chooses refused requests; add --rejected")
    if because is not None and rejected:
        raise Problem(f"--because: {NO_RECORD}")
    with on_stack(Place(stack, profile, region), id or "") as there:
        if id is None:
            return _told(there, refused.handle(there, "start", error, limit=limit), as_json)
        try:
            answer = decisions.retry(there, id, because)
        except (Missing, Changed):
            started = refused.handle(there, "start", wants=lambda each: each == id)
            if started["requests"]:
                return _told(there, started, as_json)
            raise
        told = f"{id}: started again. {MEANS_RETRY} `once show {quote(id)}` tells how it stands."
        pending = [Entry("  ", WAS_PENDING)] if answer["wasPending"] else []
        return answered(answer, as_json, Entry("✓ ", told), *pending, answer["executionArn"])


def _told(stack: Stack, done: Mapping[str, Any], as_json: bool) -> int:
    rejected_lines.answer(stack, done, as_json)
    return 1 if any(each["outcome"] in STUCK for each in done["requests"]) else 0
