"""The provider's ledger: what it says of an order with Once, and what it says without; and a report without Once."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oncekit.local.account import ACCOUNT

if TYPE_CHECKING:
    from oncekit.local.once_cloud import LocalCloud

FOLDER = Path(__file__).with_name("without_once")
WITHOUT_ONCE = "charge-without-once"
REPORT_WITHOUT_ONCE = "report-without-once"


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


def plain_report(cloud: LocalCloud, payload: Mapping[str, Any]) -> str:
    """How a state machine ends that does nothing but build a report: an error, or a status."""
    from oncekit.local.once_cloud import PREFIX

    cloud.add_function(REPORT_WITHOUT_ONCE, FOLDER, handler="report.handler")
    build = {
        "Type": "Task",
        "Resource": "arn:aws:states:::lambda:invoke",
        "Arguments": {"FunctionName": f"{PREFIX}{REPORT_WITHOUT_ONCE}", "Payload": payload},
        "End": True,
    }
    definition = {"QueryLanguage": "JSONata", "StartAt": "BuildReport", "States": {"BuildReport": build}}
    machine = cloud.client("stepfunctions").create_state_machine(
        name=REPORT_WITHOUT_ONCE, definition=json.dumps(definition), roleArn=f"arn:aws:iam::{ACCOUNT}:role/without-once"
    )
    ended = cloud.wait(cloud.start_machine(machine["stateMachineArn"], "{}", REPORT_WITHOUT_ONCE))
    return ended.error or ended.status
