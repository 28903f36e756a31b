"""The provider's ledger: what it says of an order with Once, and what it says without."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from oncekit.local.once_cloud import LocalCloud

FOLDER = Path(__file__).with_name("without_once")
WITHOUT_ONCE = "charge-without-once"


@dataclass(frozen=True)
class Row:
    """A time that money moved."""

    charge: str
    amount: int
    currency: str

    @property
    def money(self) -> str:
        return f"{self.amount / 100:.2f} {self.currency}"

    def __str__(self) -> str:
        return f"{self.charge}  {self.money}"


def rows(cloud: LocalCloud, order: str) -> list[Row]:
    """The rows of an order in the provider's ledger."""
    found = cloud.client("dynamodb").scan(
        TableName=cloud.resources["ProviderLedgerTable"],
        FilterExpression="orderId = :order",
        ExpressionAttributeValues={":order": {"S": order}},
    )["Items"]
    made = [Row(each["chargeId"]["S"], int(each["amount"]["N"]), each["currency"]["S"]) for each in found]
    return sorted(made, key=lambda row: (row.amount, row.charge))


def without_once(cloud: LocalCloud, deliveries: Sequence[Mapping[str, Any]], crashes: int = 0) -> list[Row]:
    """The ledger when a plain function is called for each delivery of a payload; it dies in the first of them."""
    from oncekit.local.once_cloud import PREFIX

    function = f"{PREFIX}{WITHOUT_ONCE}"
    if function not in cloud.functions.functions:
        environment = {"LEDGER_TABLE": cloud.resources["ProviderLedgerTable"]}
        cloud.add_function(WITHOUT_ONCE, FOLDER, timeout=30, environment=environment)  # no crash but the one asked for
    order = f"{deliveries[0]['orderId']} without Once, {len(cloud.invocations(WITHOUT_ONCE))}"
    for number, payload in enumerate(deliveries):
        event = {**payload, "orderId": order, "crash": number < crashes}
        cloud.functions.invoke(FunctionName=function, Payload=json.dumps(event))
    return rows(cloud, order)
