import os
import uuid

import boto3

ledger = boto3.resource("dynamodb").Table(os.environ["LEDGER"])


def on_invoice(event, context):
    invoice = event["detail"]["invoice"]
    charge = {"id": str(uuid.uuid4()), "invoice": invoice["number"], "cents": invoice["cents"]}
    ledger.put_item(Item=charge)
    return {"charged": charge["id"]}
