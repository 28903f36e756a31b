"""`once ls`: the operations that somebody may have to look at, or the refused requests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

import typer

from oncekit.cli.deployed import rejected_lines
from oncekit.cli.deployed.on_stack import answered, on_stack
from oncekit.cli.options import Json, Profile, Refusal, Region, StackName
from oncekit.cli.outcomes import COLOURS, mark_of
from oncekit.cli.terminal import Entry, tell
from oncekit.console.visible import short
from oncekit.contract.record_form import ODD, OPEN
from oncekit.problem import Problem
from oncekit.stack import listing
from oncekit.stack import rejected as refused
from oncekit.stack.listing import LONGEST_ID, age, lasting, since
from oncekit.stack.session import Place

HEAD = ("", "status", "lane", "attempts", "age", "pending", "overdue", "error", "id")

Status = Annotated[
    Literal["IN_PROGRESS", "QUARANTINED"] | None,
    typer.Option("--status", metavar="STATUS", help="IN_PROGRESS or QUARANTINED; by default both."),
]
Overdue = Annotated[bool, typer.Option("--overdue", help="Only operations in progress whose lease is over.")]
Tenant = Annotated[str | None, typer.Option("--tenant", metavar="NAME", help="Only of this tenant.")]
Operation = Annotated[str | None, typer.Option("--operation", metavar="NAME", help="Only of this operation.")]
Limit = Annotated[int, typer.Option("--limit", metavar="N", min=1, help="List N operations at most.")]
Rejected = Annotated[bool, typer.Option("--rejected", help="The refused requests instead, and what can be done.")]


def ls(
    status: Status = None,
    overdue: Overdue = False,
    tenant: Tenant = None,
    operation: Operation = None,
    rejected: Rejected = False,
    error: Refusal = None,
    limit: Limit = 100,
    as_json: Json = False,
    stack: StackName = "once",
    profile: Profile = None,
    region: Region = None,
) -> int:
    """List open operations, the oldest lease first.

    No index lists finished operations: `once show` knows each, and the saved query STACK/failures lists those that
    failed.

    `lane` is the lane of the last owner, even if the record has no owner any more: full, fast, or direct, if its
    function took the lock itself. `age` is the time since its first attempt took the lock; `pending`, of an operation
    that waits for work elsewhere, how long it has waited and how much longer it may; `overdue` the time since its lease
    ended. The id is last in each row.

    With --rejected, the requests that were refused and are kept, the oldest first: CAN_START, REFUSED_AGAIN (with the
    reason), NO_INPUT (the request could not be kept) or UNREADABLE (it is no refused request of Once).

    JSON: {operations: [...], isComplete}; of refused requests {requests: [...], isComplete}, as `once retry` has
    them.
    """
    if overdue and status == "QUARANTINED":
        raise Problem("--overdue: only what is IN_PROGRESS has a lease; leave out --status")
    if rejected and (status or overdue):
        raise Problem("--rejected: a refused request has no status and no lease; choose with --tenant or --operation")
    if error is not None and not rejected:
        raise Problem("--error: it chooses refused requests; add --rejected")

    def wants(id: str | None) -> bool:
        its_tenant, _, rest = (id or "").partition("#")
        return tenant in (None, its_tenant) and operation in (None, rest.partition("#")[0])

    with on_stack(Place(stack, profile, region)) as there:
        if rejected:
            rejected_lines.answer(there, refused.handle(there, "list", error, wants, limit), as_json)
            return 0
        statuses = ("IN_PROGRESS",) if overdue else (status,) if status else OPEN
        found = listing.open_operations(there, statuses, overdue, wants, limit)
        tell(*(f"{each}: {ODD}" for each in found.odd))
        if not as_json and found.operations:
            _print_table(found.operations, there.now())
        told = {"operations": found.operations, "isComplete": found.is_complete}
        return answered(told, as_json, *_remarks(found, bool(status or overdue or tenant or operation)))


def _print_table(operations: Sequence[Mapping[str, Any]], now: float) -> None:
    from oncekit.cli.paper import Paper

    rows = [_row(each, now) for each in operations]
    Paper(error=False).table(HEAD, rows, [COLOURS[row[0]] for row in rows], is_whole=True)


def _remarks(found: listing.Listed, chooses: bool) -> Iterator[Entry]:
    if not found.operations:
        yield Entry("", f"Nothing is open{' that matches' if chooses else ''}.")
    if not found.is_complete:
        yield Entry("", "There are more: raise --limit, or choose with --tenant or --operation.")
    if any(each["pendingSince"] and not each["overdue"] for each in found.operations):
        how = "its ticket ends it, or a person does: `once show ID` tells how"
        yield Entry("", f"What is pending waits for work elsewhere; {how}.")
    if any(each["status"] == "QUARANTINED" for each in found.operations):
        yield Entry("", "`once show ID` tells what happened to a quarantined operation, and what to do next.")


def _row(each: Mapping[str, Any], now: float) -> tuple[str, ...]:
    return (
        mark_of(each["status"]),
        each["status"],
        each["lane"],
        str(each["attempts"]),
        age(each["acquiredAt"], now),
        _pending(each, now),
        since(now, each["leaseExpiresAt"]) if each["overdue"] else "-",
        short(each["error"]["name"]) if each["error"] else "-",
        short(each["id"], LONGEST_ID),
    )


def _pending(each: Mapping[str, Any], now: float) -> str:
    if each["pendingSince"] is None:
        return "-"
    left = "" if each["overdue"] else f", {lasting(each['leaseExpiresAt'] - now)} more"
    return age(each["pendingSince"], now) + left
