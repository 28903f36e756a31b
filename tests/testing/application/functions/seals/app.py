"""Binary values in every kind of write."""

import os

import boto3
from boto3.dynamodb.types import Binary
from once import JSON, Request, operation
from once.step import Step

SEAL, SEALS = b"\x00\xff", {b"\x00", b"\xfe"}


@operation()
def handler(request: Request) -> JSON:
    notes, stock, orders = (os.environ[f"{name}_TABLE"] for name in ("NOTES", "STOCK", "ORDERS"))
    request.put_once(notes, {"note": "put_once", "seal": SEAL, "seals": SEALS, "inside": [{"seal": Binary(SEAL)}]})
    request.apply_once(stock, {"sku": "apply_once"}, "SET seal = :seal", {":seal": SEAL})

    def write(step: Step) -> JSON:
        step.put(orders, {"orderId": "step", "seal": bytearray(SEAL), "seals": SEALS})
        step.update(stock, {"sku": "step"}, "SET seal = :seal ADD seals :seals", {":seal": SEAL, ":seals": SEALS})
        return None

    request.step("seal", write)
    dynamodb = boto3.client("dynamodb")
    put = {"TableName": notes, "Item": {"note": {"S": "own"}, "seal": {"B": SEAL}}}
    for _ in range(2):
        dynamodb.transact_write_items(TransactItems=[{"Put": put}], ClientRequestToken=request.provider_key("own"))
    read = dynamodb.get_item(TableName=notes, Key={"note": {"S": "own"}}, ConsistentRead=True)
    return read["Item"]["seal"]["B"].hex()
