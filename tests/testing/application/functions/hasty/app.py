"""Decides by what it reads before its step, and sends a message only when it has made the step itself."""

import os
from functools import cache
from typing import Any

import botocore.session
from once import JSON, PermanentError, Request, operation
from once.clients import client
from once.step import Step


@operation()
def handler(request: Request) -> JSON:
    look_before_the_step()
    made_now: list[bool] = []

    def write(step: Step) -> JSON:
        made_now.append(True)
        step.update(os.environ["STOCK_TABLE"], {"sku": "mug"}, "ADD available :less", {":less": -1})
        return {"status": "sold"}

    result = request.step("sell", write)
    if made_now:
        send_after_the_step()
    return result


def look_before_the_step() -> None:
    row = client("dynamodb").get_item(TableName=os.environ["STOCK_TABLE"], Key={"sku": {"S": "mug"}})["Item"]
    if int(row["available"]["N"]) < 1:
        raise PermanentError("sold out")


def send_after_the_step() -> None:
    _sqs().send_message(QueueUrl=os.environ["MAIL_QUEUE"], MessageBody="sold")


@cache
def _sqs() -> Any:
    return botocore.session.get_session().create_client("sqs")
