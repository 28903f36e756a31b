"""The provider's ledger of the sample: what it says of an order with Once, and what it says without."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from oncekit.local.once_cloud import LocalCloud

TABLE = "ProviderLedgerTable"
"""What only a template with the sample's operations has."""
FOLDER = Path(__file__).with_name("without_once")
WITHOUT_ONCE = "charge-without-once"

Row = Mapping[str, Any]
"""A time that money moved, as DynamoDB has it."""


def money(row: Row) -> str:
    return f"{int(row['amount']['N']) / 100:.2f} {row['currency']['S']}"


def count(cloud: LocalCloud) -> int:
    """The charges that were made with Once: under a key."""
    return sum("idempotencyKey" in row for row in _all(cloud))


def rows(cloud: LocalCloud, order: str) -> list[Row]:
    """The rows of an order."""
    found = [row for row in _all(cloud) if row["orderId"]["S"] == order]
    return sorted(found, key=lambda row: (int(row["amount"]["N"]), row["chargeId"]["S"]))


def _all(cloud: LocalCloud) -> Sequence[Row]:
    found: Sequence[Row] = cloud.client("dynamodb").scan(TableName=cloud.resources[TABLE])["Items"]
    return found


def rows_without_once(cloud: LocalCloud, deliveries: Sequence[Mapping[str, Any]], crashes: int = 0) -> list[Row]:
    """Its rows when a plain function is called for each delivery of a payload; it dies in the first of them."""
    from oncekit.local.once_cloud import PREFIX

    function = f"{PREFIX}{WITHOUT_ONCE}"
    if function not in cloud.functions.functions:
        environment = {"LEDGER_TABLE": cloud.resources[TABLE]}
        cloud.add_function(WITHOUT_ONCE, FOLDER, timeout=30, environment=environment)  # no crash but the one asked for
    order = f"{deliveries[0]['orderId']} without Once, {len(cloud.invocations(WITHOUT_ONCE))}"
    for number, payload in enumerate(deliveries):
        event = {**payload, "orderId": order, "crash": number < crashes}
        cloud.functions.invoke(FunctionName=function, Payload=json.dumps(event))
    return rows(cloud, order)
