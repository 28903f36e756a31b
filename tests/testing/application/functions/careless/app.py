"""Four effects that do not happen once, each of its own kind; and a mail that may come twice."""

import contextlib
import json
import os
import urllib.request
import uuid

from botocore.exceptions import BotoCoreError, ClientError
from once import JSON, Request, operation
from once.clients import client
from once.step import Step


@operation()
def handler(request: Request) -> JSON:
    put_before_the_step()
    charge_without_a_key(request.payload)
    update_without_a_fence()
    take_an_outage_for_a_success(request)

    def write(step: Step) -> JSON:
        step.put(os.environ["ORDERS_TABLE"], {"orderId": request.provider_key("order")})
        return {"status": "placed"}

    result = request.step("place", write)
    _post("https://mail.example/send", "placed")
    return result


def put_before_the_step() -> None:
    client("dynamodb").put_item(TableName=os.environ["NOTES_TABLE"], Item={"note": {"S": str(uuid.uuid4())}})


def charge_without_a_key(payload: JSON) -> None:
    _post("https://api.provider.example/charges", payload)


def update_without_a_fence() -> None:
    client("dynamodb").update_item(
        TableName=os.environ["STOCK_TABLE"],
        Key={"sku": {"S": "mug"}},
        UpdateExpression="ADD sold :one",
        ExpressionAttributeValues={":one": {"N": "1"}},
    )


def take_an_outage_for_a_success(request: Request) -> None:
    with contextlib.suppress(ClientError, BotoCoreError):
        client("s3").put_object(Bucket=os.environ["PAPERS"], Key=request.provider_key("paper"), Body=b"{}")


def _post(url: str, value: JSON) -> None:
    urllib.request.urlopen(url, json.dumps(value).encode()).read()
