import os
import uuid

import boto3

TABLE = boto3.resource("dynamodb").Table(os.environ["LEDGER"])


def handler(message, context):
    TABLE.put_item(Item={"id": uuid.uuid4().hex, "reserved": message["sku"], "orderNo": message["orderNo"]})
    return "reserved"
