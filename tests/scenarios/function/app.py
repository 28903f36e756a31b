"""Business logic that does what its payload says, start by start.

Each start and each end leaves a row among the orders: a count of them that no status can gloss over.
"""

import itertools
import os
import time
from typing import Any

from botocore.exceptions import ClientError
from once import JSON, NeedsAttention, PermanentError, Request, operation
from once.clients import client
from once.step import Step

ORDERS, STOCK, BUCKET = (os.environ[name] for name in ("ORDERS_TABLE", "STOCK_TABLE", "RESPONSE_BUCKET"))
MOST_SECONDS_AT_A_LATCH = float(os.environ["LATCH_SECONDS"])
LOOK_SECONDS = float(os.environ["LOOK_SECONDS"])
ERRORS = {"PermanentError": PermanentError, "NeedsAttention": NeedsAttention, "ConnectionError": ConnectionError}


@operation()
def handler(request: Request) -> JSON:
    number = note(request, "start", "")
    script = request.payload["script"]
    try:
        result = perform(request, script[min(number, len(script)) - 1])
    except Exception as error:
        note(request, "end", type(error).__name__)
        raise
    note(request, "end", "")
    return result


def perform(request: Request, act: dict[str, Any]) -> JSON:
    """In this order, what there is of it: take from stock in a step, wait at a latch, crash, fail; then the result."""
    if "takes" in act:
        request.step("take", lambda step: take(request, step, act["takes"]))
    if "awaits" in act:
        # The second is every latch of the run, opened at its end: the tenant is named by the run.
        wait_at(f"{request.tenant}/latches/{request.idempotency_key}/{act['awaits']}", f"{request.tenant}/latches/all")
    if "then" in act:
        return perform(request, act["then"])
    if "exits" in act:
        os._exit(act["exits"])
    if "raises" in act:
        raise ERRORS[act["raises"]](act.get("message", "as the script says"))
    return act["returns"]


def take(request: Request, step: Step, sku: str) -> JSON:
    step.put(ORDERS, {"orderId": f"{request.id}/order/{request.attempt}", "requestId": request.id, "sku": sku})
    step.update(STOCK, {"sku": sku}, "ADD taken :one", {":one": 1})
    return sku


def wait_at(*latches: str) -> None:
    """Until somebody opens one of them, or nearly all of the function's time is over."""
    end = time.monotonic() + MOST_SECONDS_AT_A_LATCH
    while not any(map(is_open, latches)) and time.monotonic() < end:
        time.sleep(LOOK_SECONDS)


def is_open(latch: str) -> bool:
    try:
        client("s3").head_object(Bucket=BUCKET, Key=f"responses/{latch}")
    except ClientError as error:
        # Who may not list a bucket is told 403 of an object that is not there.
        if error.response["ResponseMetadata"]["HTTPStatusCode"] not in (403, 404):
            raise
        return False
    return True


def note(request: Request, what: str, error: str) -> int:
    """A row under the first number that is free, for all that the function may do with this table is to put."""
    dynamodb = client("dynamodb")
    for number in itertools.count(1):
        texts = {"orderId": f"{request.id}/{what}/{number}", "requestId": request.id, "error": error}
        try:
            dynamodb.put_item(
                TableName=ORDERS,
                Item={key: {"S": text} for key, text in texts.items()},
                ConditionExpression="attribute_not_exists(orderId)",
            )
        except dynamodb.exceptions.ConditionalCheckFailedException:
            continue
        return number
    raise AssertionError
