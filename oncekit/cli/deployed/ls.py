"""`once ls`: the operations that somebody may have to look at; listing.py reads them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from oncekit.cli.deployed import listing, records
from oncekit.cli.deployed.inspection import since
from oncekit.cli.deployed.on_stack import LONGEST_ID, answered, on_stack
from oncekit.cli.deployed.place import Place
from oncekit.cli.deployed.stack import Stack
from oncekit.cli.options import Json, Profile, Region, StackName
from oncekit.cli.problem import Problem
from oncekit.cli.terminal import short, visible

NAME = re.compile(r"[a-z][a-z0-9-]{0,39}")
"""Of a tenant or an operation."""
HEAD = ("id", "status", "attempts", "recoveries", "since", "lease over since", "error")

Status = Annotated[
    list[str] | None, typer.Option("--status", metavar="STATUS", help="IN_PROGRESS or QUARANTINED; may be repeated.")
]
Overdue = Annotated[bool, typer.Option("--overdue", help="Only those in progress whose lease is over.")]
Tenant = Annotated[str | None, typer.Option("--tenant", metavar="NAME", help="Only of this tenant.")]
Operation = Annotated[str | None, typer.Option("--operation", metavar="NAME", help="Only of this operation.")]
Limit = Annotated[int, typer.Option("--limit", metavar="N", min=1, help="At most N, the oldest lease first.")]


def ls(
    status: Status = None,
    overdue: Overdue = False,
    tenant: Tenant = None,
    operation: Operation = None,
    limit: Limit = 100,
    as_json: Json = False,
    stack: StackName = "once",
    profile: Profile = None,
    region: Region = None,
) -> None:
    """List open operations, the oldest lease first.

    JSON: {operations: [...], isComplete}.
    """
    asked = Asked(tuple(status or ()), overdue, tenant, operation)
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
        if unknown := [each for each in self.statuses if each not in records.STATUSES]:
            raise Problem(f"--status {unknown[0]}: there are {' and '.join(records.STATUSES)}")
        if self.is_overdue and "QUARANTINED" in self.statuses:
            raise Problem("--overdue: only what is IN_PROGRESS has a lease; leave out --status QUARANTINED")
        for option, name in self._names:
            if name is not None and not NAME.fullmatch(name):
                raise Problem(f"{option} {name}: there can be none: a name matches {NAME.pattern}")

    @property
    def _names(self) -> tuple[tuple[str, str | None], ...]:
        return ("--tenant", self.tenant), ("--operation", self.operation)

    @property
    def chosen(self) -> Sequence[str]:
        return ("IN_PROGRESS",) if self.is_overdue else self.statuses or records.STATUSES

    def wants(self, id: str) -> bool:
        # Whoever writes the table may have given a record any id: one without these parts is nobody's.
        parts = id.split("#", 2)
        if len(parts) < 3:
            return self.tenant is None and self.operation is None
        return self.tenant in (None, parts[0]) and self.operation in (None, parts[1])

    def __str__(self) -> str:
        """As it was asked."""
        words = [f"--status {each}" for each in self.statuses] + ["--overdue"] * self.is_overdue
        return " ".join([*words, *(f"{option} {name}" for option, name in self._names if name)])


def _ls(place: Place, asked: Asked, limit: int, as_json: bool) -> int:
    asked.check()

    def work(stack: Stack) -> int:
        found = listing.open_operations(stack, asked.chosen, asked.is_overdue, asked.wants, limit)
        return answered(found, as_json, *_table(found, stack.now(), str(asked)))

    return on_stack(place, "", work)


def _table(found: dict[str, Any], now: float, asked: str) -> list[str]:
    rows = [HEAD, *(_row(each, now) for each in found["operations"])]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    if not found["operations"]:
        lines = [f"Nothing is open that matches {asked}." if asked else "Nothing is open."]
    return lines if found["isComplete"] else [*lines, "There are more: raise --limit, or choose with --tenant."]


def _row(each: dict[str, Any], now: float) -> tuple[str, ...]:
    return (
        short(visible(each["id"]), LONGEST_ID),
        each["status"],
        str(each["attempts"]),
        str(each["recoveries"]),
        short(visible(each["acquiredAt"])),
        since(now, each["leaseExpiresAt"]) if each["overdue"] else "-",
        short(visible(each["error"]["name"])) if each["error"] else "-",
    )
