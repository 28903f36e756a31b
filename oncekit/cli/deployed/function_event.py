"""The event that a function gets for a request, under a lock that is held without an execution."""

from __future__ import annotations

import json
from typing import Any

from oncekit.cli.deployed.stack import Stack
from oncekit.cli.problem import Problem
from oncekit.console.requests import opened

MARK = "sam-local"
"""Keys begin with it, so that no request meets such a lock, and the owner is named by it."""
HELD = 24 * 3600
"""Seconds until the table deletes the lock."""


def function_event(stack: Stack, text: str) -> Any:
    """What ExecuteBusinessLogic sends for a request of the right form; the lock in it is in the table then.

    The function of an operation in PayloadOnlyOperations gets the payload, and no lock. Raises Problem.
    """
    request = opened(json.loads(text))
    operation, tenant = request["operation"], request.get("tenant", "default")
    if operation in stack.parameters.get("PayloadOnlyOperations", "").split(","):
        return request["payload"]
    key = f"{MARK}-{request['idempotencyKey']}"
    until = int(stack.now()) + HELD
    lock = {
        "table": stack.table,
        "id": f"{tenant}#{operation}#{key}",
        "owner": stack.execution(MARK),
        "fence": 1,
        "leaseExpiresAt": until,
    }
    _hold(stack, lock)
    return {
        "operation": operation,
        "tenant": tenant,
        "idempotencyKey": key,
        "payload": request["payload"],
        "attempt": 1,
        "retentionDays": stack.number("RetentionDays"),
        "responseBucket": stack.outputs["ResponseBucketName"],
        "replyToken": MARK,
        "lock": lock,
    }


def _hold(stack: Stack, lock: dict[str, Any]) -> None:
    """Write the lock, or keep the one of an earlier call, with the steps that are done. Without `openShard` no sweep
    finds it, and a request under its id is refused as PayloadMismatch, whatever its payload.
    """
    client = stack.client("dynamodb")
    try:
        client.update_item(
            TableName=lock["table"],
            Key={"id": {"S": lock["id"]}},
            ConditionExpression="attribute_not_exists(id) OR #owner = :me",
            UpdateExpression="SET #status = :inProgress, #owner = :me, fence = :one, attempts = :one, "
            "fingerprint = :mark, onCrash = :onCrash, leaseExpiresAt = :until, expiresAt = :until",
            ExpressionAttributeNames={"#status": "status", "#owner": "owner"},
            ExpressionAttributeValues={
                ":inProgress": {"S": "IN_PROGRESS"},
                ":me": {"S": lock["owner"]},
                ":one": {"N": "1"},
                ":mark": {"S": MARK},
                ":onCrash": {"S": "quarantine"},
                ":until": {"N": str(lock["leaseExpiresAt"])},
            },
        )
    except client.exceptions.ConditionalCheckFailedException as error:
        raise Problem(f"{lock['id']} is a request of somebody else: choose another idempotencyKey") from error
