"""Refused requests as people read them: in a table, one in full, and what is next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from oncekit.cli.deployed.on_stack import answered
from oncekit.cli.outcomes import COLOURS
from oncekit.cli.terminal import Entry
from oncekit.console.visible import short
from oncekit.stack.listing import LONGEST_ID, age
from oncekit.stack.rejected import CAN_START, DELETED, STARTED, STUCK, Handled
from oncekit.stack.stack import Stack

MARKS = {STARTED: "✓", CAN_START: "↻", DELETED: "✓"}


def answer(stack: Stack, done: Mapping[str, Any], as_json: bool) -> None:
    """Print what `handle` gave: as JSON, or a row for each, below it why it was refused and cannot be started, and what
    is next.
    """
    if done["requests"] and not as_json:
        _print_table(done["requests"], stack.now())
    answered(done, as_json, *_what_next(done["requests"], done["isComplete"]))


def _print_table(handled: Sequence[Handled], now: float) -> None:
    from oncekit.cli.paper import Paper

    rows = [
        (
            MARKS.get(each["outcome"], "✗"),
            each["outcome"],
            short(each["error"]),
            age(each["refusedAt"], now),
            short(each["id"] or _without_id(each), LONGEST_ID),
        )
        for each in handled
    ]
    below = ["; ".join(str(each[key]) for key in ("message", "reason") if each[key]) for each in handled]
    head = ("", "outcome", "error", "age", "id")
    Paper(error=False).table(head, rows, [COLOURS[row[0]] for row in rows], below, is_whole=True)


def _without_id(each: Mapping[str, Any]) -> str:
    """By the object, which `once show` takes, and by its operation, where it names one."""
    return f"{each['key']} ({each['operation']})" if each["operation"] else str(each["key"])


def lines(shown: Handled) -> Iterator[Entry]:
    """One that is shown by its key."""
    yield Entry("", f"{shown['key']}  {short(shown['error'])}")
    why = "; ".join(str(shown[key]) for key in ("outcome", "reason") if shown[key])
    told = {"id": shown["id"], "operation": shown["operation"], "message": shown["message"], "outcome": why}
    told |= {"refusedAt": shown["refusedAt"], "refusedBy": shown["refusedBy"]}
    for name, text in told.items():
        if text:
            yield Entry(f"  {name:<12}", str(text))
    if shown["input"] is not None:
        yield Entry(f"  {'input':<12}", shown["input"], True)
    yield from _what_next([shown], True)


def _what_next(handled: Sequence[Handled], is_complete: bool) -> Iterator[Entry]:
    """The commands that go on from here."""
    if not handled:
        yield Entry("", "No such request was refused.")
    if not is_complete:
        yield Entry("", "There are more: raise --limit, or give --error NAME.")
    outcomes = {each["outcome"] for each in handled}
    if CAN_START in outcomes:
        yield Entry("", "`once retry --rejected` starts those again that can succeed, `once retry ID` one.")
    if STARTED in outcomes:
        yield Entry("", "`once show ID` tells how one stands.")
    if stuck := sorted({short(each["error"]) for each in handled if each["outcome"] in STUCK}):
        deletes = ", ".join(f"`once release --rejected --error {each}`" for each in stuck)
        yield Entry("", f"Those that cannot be started have to be sent again by their senders; {deletes} deletes them.")
