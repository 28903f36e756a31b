"""How executions are shown: as a table for people, as JSON for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table

from local import Execution

CONFLICTS = {"OperationInProgress", "PayloadMismatch"}
WIDTH_OF_A_RESULT = 60


@dataclass(frozen=True)
class SideEffects:
    """What the run did: starts of business logic by operation, items added by table (logical id)."""

    business_logic_starts: Mapping[str, int]
    tables: Mapping[str, int]

    def as_json(self) -> dict[str, Any]:
        return {"businessLogicStarts": dict(self.business_logic_starts), "tables": dict(self.tables)}


def stderr() -> Console:
    return Console(stderr=True, highlight=False)


def stdout() -> Console:
    return Console(highlight=False, width=None if sys.stdout.isatty() else 140)


def mark(execution: Execution) -> str:
    """✓ executed, ↻ answered from what is there, ✗ failed."""
    if execution.status != "SUCCEEDED":
        return "✗"
    return "✓" if execution.output["disposition"] == "EXECUTED" else "↻"


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


def print_path(console: Console, execution: Execution) -> None:
    console.print(f"{mark(execution)} {execution.name[:8]}  {' → '.join(execution.states)}", style="dim")


def print_table(executions: Sequence[Execution], effects: SideEffects) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("", "execution", "came to", "attempt", "result"):
        table.add_column(column, overflow="fold")
    for execution in executions:
        output = execution.output or {}
        colour = {"✓": "green", "↻": "cyan", "✗": "red"}[mark(execution)]
        table.add_row(
            f"[{colour}]{mark(execution)}[/]",
            execution.name[:8],
            output.get("disposition") or execution.error,
            str(output.get("attempt", "")),
            _result(execution),
        )
    console = stdout()
    console.print(table)
    starts = [f"business logic of {name} started {_times(n)}" for name, n in effects.business_logic_starts.items()]
    items = [f"{n} new in {table}" for table, n in effects.tables.items() if n]
    console.print("\n" + "; ".join([*starts, *items] or ["no business logic started"]))


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
    """The message in the cause of a failure."""
    try:
        cause = json.loads(execution.cause or "")
        return str(cause["message"])
    except (ValueError, KeyError, TypeError):
        return execution.cause or execution.status
