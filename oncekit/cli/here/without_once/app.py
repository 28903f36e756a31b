"""What charging a card is without Once: a function that a queue calls for each delivery."""

import os
import uuid
from typing import Any


def handler(event: dict[str, Any], _: object) -> None:
    import boto3

    row = {
        "chargeId": {"S": f"ch_{uuid.uuid4().hex[:24]}"},
        "orderId": {"S": event["orderId"]},
        "amount": {"N": str(event["amount"])},
        "currency": {"S": event["currency"]},
    }
    boto3.client("dynamodb").put_item(TableName=os.environ["LEDGER_TABLE"], Item=row)
    if event["crash"]:
        os._exit(1)
