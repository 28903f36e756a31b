"""`once ls`: the operations that somebody may have to look at; open_operations.py reads them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from oncekit.cli.deployed.on_stack import LONGEST_ID, answered, on_stack
from oncekit.cli.deployed.place import Place
from oncekit.cli.deployed.records import listing
from oncekit.cli.deployed.records.attributes import OPEN, STATUSES
from oncekit.cli.deployed.records.listing import age, since
from oncekit.cli.deployed.rejected.options import Error, print_table, what_next
from oncekit.cli.deployed.rejected.requests import Which, handle
from oncekit.cli.deployed.stack import Stack
from oncekit.cli.options import Json, Profile, Region, StackName
from oncekit.cli.outcomes import COLOURS, mark_of
from oncekit.cli.problem import Problem
from oncekit.cli.terminal import Entry, short, tell

HEAD = ("", "status", "lane", "attempts", "age")
MORE = {
    True: "There are more: raise --limit, or choose with --tenant or --operation.",
    False: "There may be more: only a part of the table was read; raise --limit (20,000 records are read at most).",
}

Status = Annotated[
    list[str] | None,
    typer.Option(
        "--status",
        metavar="STATUS",
        autocompletion=lambda: STATUSES,
        help="IN_PROGRESS, QUARANTINED, COMPLETED or FAILED; can be repeated.  [default: the first two]",
    ),
]
Overdue = Annotated[bool, typer.Option("--overdue", help="Only operations in progress whose lease is over.")]
Tenant = Annotated[str | None, typer.Option("--tenant", metavar="NAME", help="Only of this tenant.")]
Operation = Annotated[str | None, typer.Option("--operation", metavar="NAME", help="Only of this operation.")]
Limit = Annotated[int, typer.Option("--limit", metavar="N", min=1, help="List N operations at most.")]
Refused = Annotated[bool, typer.Option("--rejected", help="The refused requests instead, and what can be done.")]


def ls(
    status: Status = None,
    overdue: Overdue = False,
    tenant: Tenant = None,
    operation: Operation = None,
    rejected: Refused = False,
    error: Error = None,
    limit: Limit = 100,
    as_json: Json = False,
    stack: StackName = "once",
    profile: Profile = None,
    region: Region = None,
) -> None:
    """List open operations, the oldest lease first.

    With --status COMPLETED or FAILED also finished operations, the last finished first. No index lists these: the
    table itself is read, 20,000 records at most, until --limit is reached. How much was read is on standard error.

    `lane` is the lane of the last owner, even if the record has no owner any more: full or fast. `age` is the time
    since it took the lock, `overdue` the time since its lease ended. The id is last in each row.

    With --rejected, the requests that were refused and are kept, the oldest first: CAN_START, REFUSED_AGAIN (with the
    reason), NO_INPUT (the request could not be kept) or UNREADABLE (it is no refused request of Once).

    JSON: {operations: [...], isComplete}; if the table was read, also `read`: {records, units}; of refused requests
    {requests: [...]}, as `once retry` has them.
    """
    asked = Asked(tuple(status or ()), overdue, tenant, operation)
    if rejected:
        raise typer.Exit(_rejected(Place(stack, profile, region), asked, error, limit, as_json))
    if error is not None:
        raise Problem("--error: it chooses refused requests; add --rejected")
    raise typer.Exit(_ls(Place(stack, profile, region), asked, limit, as_json))


@dataclass(frozen=True)
class Asked:
    """Which operations are asked for."""

    statuses: Sequence[str]
    is_overdue: bool
    tenant: str | None
    operation: str | None

    def check(self) -> None:
        """Raises Problem where there can be none."""
        if unknown := [each for each in self.statuses if each not in STATUSES]:
            raise Problem(f"--status {unknown[0]}: there are {', '.join(STATUSES)}")
        if self.is_overdue and set(self.statuses) - {"IN_PROGRESS"}:
            raise Problem("--overdue: only what is IN_PROGRESS has a lease; leave out --status")

    @property
    def chosen(self) -> Sequence[str]:
        return ("IN_PROGRESS",) if self.is_overdue else self.statuses or OPEN

    @property
    def are_open(self) -> bool:
        """Whether the index of open operations has them all."""
        return set(self.chosen) <= set(OPEN)

    def wants(self, id: str) -> bool:
        tenant, _, rest = id.partition("#")
        return self.tenant in (None, tenant) and self.operation in (None, rest.partition("#")[0])


def _ls(place: Place, asked: Asked, limit: int, as_json: bool) -> int:
    asked.check()

    def work(stack: Stack) -> int:
        if asked.are_open:
            found = listing.open_operations(stack, asked.chosen, asked.is_overdue, asked.wants, limit)
        else:
            found = listing.finished_operations(stack, asked.chosen, asked.wants, limit)
            tell("Read {records:,} records of the table, {units:,.1f} read units.".format(**found["read"]))
        if not as_json and found["operations"]:
            _print_table(found["operations"], stack.now(), asked)
        return answered(found, as_json, *_remarks(found, asked))

    return on_stack(place, "", work)


def _rejected(place: Place, asked: Asked, error: str | None, limit: int, as_json: bool) -> int:
    asked.check()
    if asked.statuses or asked.is_overdue:
        raise Problem("--rejected: a refused request has no status and no lease; choose with --tenant or --operation")

    def work(stack: Stack) -> int:
        found = handle(stack, "list", Which(error, lambda id: asked.wants(id or "")), limit)
        if not as_json:
            print_table(found, stack.now())
        return answered({"requests": found}, as_json, *what_next(found))

    return on_stack(place, "", work)


def _print_table(operations: Sequence[Mapping[str, Any]], now: float, asked: Asked) -> None:
    from oncekit.cli.paper import Paper

    head = (*HEAD, "overdue" if asked.are_open else "finished", "error", "id")
    rows = [_row(each, now, asked.are_open) for each in operations]
    Paper(error=False).table(head, rows, [COLOURS[row[0]] for row in rows], is_whole=True)


def _remarks(found: Mapping[str, Any], asked: Asked) -> Iterator[Entry]:
    if not found["operations"]:
        filters = asked != Asked((), False, None, None)
        yield Entry(
            "",
            f"Nothing is open{' that matches' if filters else ''}."
            if asked.are_open
            else "No such operation was found.",
        )
    if not found["isComplete"]:
        yield Entry("", MORE[asked.are_open])
    if any(each["status"] == "QUARANTINED" for each in found["operations"]):
        yield Entry("", "`once show ID` tells what happened to a quarantined operation, and what to do next.")


def _row(each: Mapping[str, Any], now: float, is_open: bool) -> tuple[str, ...]:
    lease = since(now, each["leaseExpiresAt"]) if each["overdue"] else "-"
    return (
        mark_of(each["status"]),
        each["status"],
        each["lane"],
        str(each["attempts"]),
        age(each["acquiredAt"], now),
        lease if is_open else age(each["finishedAt"], now),
        short(each["error"]["name"]) if each["error"] else "-",
        short(each["id"], LONGEST_ID),
    )
