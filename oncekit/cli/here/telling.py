"""What people see of a chapter of `once demo`: checks, the paths of executions, the same with and without Once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from oncekit.cli.here import ledger
from oncekit.cli.outcomes import COLOURS
from oncekit.cli.paper import Paper
from oncekit.local import Execution

if TYPE_CHECKING:
    from oncekit.local.once_cloud import LocalCloud

MOST_ROWS = 3


class Telling:
    """Says each check as it is made, shows paths and ledgers as they are, and remembers which checks held."""

    def __init__(self) -> None:
        self._paper = Paper(error=False)
        self._held: list[bool] = []

    def title(self, text: str) -> None:
        self._paper.line()
        self._paper.line(text, "bold")

    def check(self, what: str, expected: object, seen: object) -> None:
        ok = expected == seen
        self._held.append(ok)
        mark = "✓" if ok else "✗"
        self._paper.line(mark, COLOURS[mark], end="")
        self._paper.line(f" {what}" + ("" if ok else f": expected {expected}, saw {seen}"), "" if ok else COLOURS["✗"])

    def end(self, seconds: float) -> int:
        """How many checks held; the exit code."""
        held, made = sum(self._held), len(self._held)
        self._paper.line()
        self._paper.line(f"{held} of {made} checks held, in {seconds:.1f} s.")
        return 0 if held == made else 1

    def path(self, execution: Execution) -> None:
        end = f"✗ {execution.status}" if execution.status == "ABORTED" else ""
        self._paper.path("  ", execution.states, end, end_style=COLOURS["✗"])

    def ledgers(self, cloud: LocalCloud, deliveries: Sequence[Mapping[str, Any]], crashes: int = 0) -> None:
        """What the ledger says of an order, and what it says when its payloads come to a plain function.

        What that calls its charges is made at random, and says nothing.
        """
        with_once = ledger.rows(cloud, deliveries[0]["orderId"])
        without = ledger.rows_without_once(cloud, deliveries, crashes)
        left = [f"{row['chargeId']['S']}  {ledger.money(row)}" for row in with_once]
        right = [ledger.money(row) for row in without]
        if (more := len(right) - MOST_ROWS) > 1:
            right[MOST_ROWS:] = [f"and {more} more"]
        head = "ledger with Once"
        width = max(map(len, (head, *left)))
        self._paper.line(f"  {head:<{width}}  without Once", "bold")
        for one, other in zip_longest(left, right, fillvalue=""):
            self._paper.line(f"  {one:<{width}}  ", "green", end="")
            self._paper.line(other, "red" if len(without) > 1 else "")
