"""Options about refused requests, and how these are shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import typer

from oncekit.cli.deployed.on_stack import LONGEST_ID
from oncekit.cli.deployed.records.listing import age
from oncekit.cli.deployed.rejected.requests import CAN_START, DELETED, STARTED, STUCK
from oncekit.cli.outcomes import COLOURS
from oncekit.cli.terminal import Entry, short

Error = Annotated[
    str | None,
    typer.Option(
        "--error",
        metavar="NAME",
        help="With --rejected: those with this error, such as Unavailable or UNREADABLE.",
    ),
]
MARKS = {STARTED: "✓", CAN_START: "↻", DELETED: "✓"}


def print_table(handled: Sequence[dict[str, Any]], now: float) -> None:
    """One row for each request, and below it why it was refused, and why it cannot be started."""
    if not handled:
        return
    from oncekit.cli.paper import Paper

    rows = [
        (
            MARKS.get(each["outcome"], "✗"),
            each["outcome"],
            short(each["error"]),
            age(each["refusedAt"], now),
            short(each["id"] or each["key"], LONGEST_ID),
        )
        for each in handled
    ]
    below = ["; ".join(str(each[key]) for key in ("message", "reason") if each[key]) for each in handled]
    head = ("", "outcome", "error", "age", "id")
    Paper(error=False).table(head, rows, [COLOURS[row[0]] for row in rows], below, is_whole=True)


def what_next(handled: Sequence[dict[str, Any]]) -> Iterator[Entry]:
    """The commands that go on from here."""
    if not handled:
        yield Entry("", "No such request was refused.")
    outcomes = {each["outcome"] for each in handled}
    if CAN_START in outcomes:
        yield Entry("", "`once retry --rejected` starts those again that can succeed, `once retry ID` one.")
    if STARTED in outcomes:
        yield Entry("", "`once show ID` tells how one stands.")
    if stuck := sorted({short(each["error"]) for each in handled if each["outcome"] in STUCK}):
        deletes = ", ".join(f"`once release --rejected --error {each}`" for each in stuck)
        yield Entry("", f"Those that cannot be started have to be sent again by their senders; {deletes} deletes them.")
