"""What people see of a chapter of `once demo`: checks, the paths of executions, the same with and without Once."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oncekit.cli.outcomes import COLOURS
from oncekit.cli.paper import Paper
from oncekit.local import Execution

if TYPE_CHECKING:
    from oncekit.local.once_cloud import LocalCloud

MOST_ROWS = 3
TABLE = "ProviderLedgerTable"
FOLDER = Path(__file__).with_name("without_once")
WITHOUT_ONCE = "charge-without-once"

Row = Mapping[str, Any]
"""A time that money moved, as DynamoDB has it."""


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
        with_once = charges(cloud, deliveries[0]["orderId"])
        without = [_money(row) for row in _charges_without_once(cloud, deliveries, crashes)]
        left = [f"{row['chargeId']['S']}  {_money(row)}" for row in with_once]
        is_wrong = len(without) > 1
        if (more := len(without) - MOST_ROWS) > 1:
            without[MOST_ROWS:] = [f"and {more} more"]
        head = "ledger with Once"
        width = max(map(len, (head, *left)))
        self._paper.line(f"  {head:<{width}}  without Once", "bold")
        for one, other in zip_longest(left, without, fillvalue=""):
            self._paper.line(f"  {one:<{width}}  ", "green", end="")
            self._paper.line(other, "red" if is_wrong else "")


def charges(cloud: LocalCloud, order: str) -> list[Row]:
    """The provider's ledger of an order."""
    rows = cloud.client("dynamodb").scan(TableName=cloud.resources[TABLE])["Items"]
    found = [row for row in rows if row["orderId"]["S"] == order]
    return sorted(found, key=lambda row: (int(row["amount"]["N"]), row["chargeId"]["S"]))


def _charges_without_once(cloud: LocalCloud, deliveries: Sequence[Mapping[str, Any]], crashes: int) -> list[Row]:
    """The ledger when a plain function is called for each delivery of a payload; it dies in the first of them."""
    from oncekit.local.once_cloud import PREFIX

    function = f"{PREFIX}{WITHOUT_ONCE}"
    if function not in cloud.functions.functions:
        environment = {"LEDGER_TABLE": cloud.resources[TABLE]}
        cloud.add_function(WITHOUT_ONCE, FOLDER, timeout=30, environment=environment)  # no crash but the one asked for
    order = f"{deliveries[0]['orderId']} without Once, {len(cloud.invocations(WITHOUT_ONCE))}"
    for number, payload in enumerate(deliveries):
        event = {**payload, "orderId": order, "crash": number < crashes}
        cloud.functions.invoke(FunctionName=function, Payload=json.dumps(event))
    return charges(cloud, order)


def _money(row: Row) -> str:
    return f"{int(row['amount']['N']) / 100:.2f} {row['currency']['S']}"
