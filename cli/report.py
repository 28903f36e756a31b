"""How executions are shown: as a table for people, as JSON for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from cli.effects import SideEffects
from local import Execution

if TYPE_CHECKING:
    from local.permissions import Denial

CONFLICTS = {"OperationInProgress", "PayloadMismatch"}
WIDTH_OF_A_RESULT = 60
COLOURS = {"✓": "green", "↻": "cyan", "✗": "red"}


def stderr() -> Console:
    return Console(stderr=True, highlight=False, markup=False)


def stdout() -> Console:
    """A file or a pipe has no width, so lines are not broken for one."""
    return Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else 140)


def mark(execution: Execution) -> str:
    """✓ executed, ↻ answered from what is there, ✗ failed."""
    if execution.status != "SUCCEEDED":
        return "✗"
    return "✓" if execution.output["disposition"] == "EXECUTED" else "↻"


def came_to(execution: Execution) -> str:
    """The disposition, or the error, or the status where neither is known."""
    disposition = (execution.output or {}).get("disposition")
    return str(disposition or execution.error or execution.status)


def as_json(execution: Execution) -> dict[str, Any]:
    output = execution.output or {}
    return {
        "name": execution.name,
        "status": execution.status,
        "disposition": output.get("disposition"),
        "error": execution.error,
        "cause": execution.cause,
        "attempt": output.get("attempt"),
        "result": json.loads(output["result"]) if "result" in output else None,
        "resultRef": output.get("resultRef"),
        "states": list(execution.states),
        "transitions": execution.transitions,
    }


def exit_code(executions: Sequence[Execution]) -> int:
    """0 when all are done, 3 when the worst is a conflict or work in progress, else 1."""
    codes = set()
    for execution in executions:
        if execution.status != "SUCCEEDED":
            codes.add(3 if execution.error in CONFLICTS else 1)
        elif execution.output["disposition"] == "IN_PROGRESS":
            codes.add(3)
    return 1 if 1 in codes else max(codes, default=0)


def print_json(executions: Sequence[Execution], effects: SideEffects) -> None:
    print(json.dumps({"executions": [as_json(e) for e in executions], "sideEffects": effects.as_json()}))


def print_table(executions: Sequence[Execution], effects: SideEffects) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("", "execution", "came to", "attempt", "result"):
        table.add_column(column, overflow="fold")
    for execution in executions:
        table.add_row(
            Text(mark(execution), style=COLOURS[mark(execution)]),
            execution.name[:8],
            Text(came_to(execution)),
            str((execution.output or {}).get("attempt", "")),
            Text(_result(execution)),
        )
    console = stdout()
    with console.capture() as rendered:
        console.print(table)
    for line in rendered.get().splitlines():
        print(line.rstrip())
    print("\n" + _told(effects))


def tell_denials(denials: Iterable[Denial]) -> None:
    """Calls that a role did not allow: who, what, and what to do. On standard error, beside what goes out as JSON."""
    for denial in denials:
        stderr().print(f"✗ {denial}", style="red", soft_wrap=True)


def _told(effects: SideEffects) -> str:
    starts = [f"business logic of {name} started {_times(n)}" for name, n in effects.business_logic_starts.items()]
    items = [f"{n} new in {table}" for table, n in effects.tables.items() if n]
    return "; ".join([*(starts or ["no business logic started"]), *items])


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _result(execution: Execution) -> str:
    if execution.status != "SUCCEEDED":
        return message_of(execution)
    output = execution.output
    if "resultRef" in output:
        ref = output["resultRef"]
        return f"{ref['bytes']:,} bytes in S3, sha256 {ref['sha256'][:12]}…"
    text = str(output.get("result", ""))
    return text if len(text) <= WIDTH_OF_A_RESULT else text[: WIDTH_OF_A_RESULT - 1] + "…"


def message_of(execution: Execution) -> str:
    """Error and message in the cause of a failure, on one line and without what a terminal would obey."""
    try:
        told = json.loads(execution.cause or "")
        message = ": ".join(str(part) for part in (told.get("name"), told["message"]) if part)
    except (ValueError, KeyError, TypeError, AttributeError):
        message = execution.cause or execution.status
    return "".join(c if c.isprintable() else " " for c in message)
