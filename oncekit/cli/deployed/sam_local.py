"""The variables and the event with which `sam local invoke` runs a function on what is deployed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from oncekit.cli.deployed.on_stack import on_stack
from oncekit.cli.deployed.session import Place
from oncekit.cli.deployed.stack import Stack
from oncekit.cli.terminal import tell
from oncekit.cli.user_files import put, read_event, where
from oncekit.console.requests import id_of, opened
from oncekit.problem import Problem

FUNCTION = "AWS::Lambda::Function"
ENDPOINT = "AWS_ENDPOINT_URL"
FROM_CONTAINERS = "A container gets an answer of `once up --from-containers` only; docs/sam-local.md says how."
MARK = "sam-local"
"""Keys begin with it, so that no request meets such a lock, and the owner is named by it."""
HELD = 24 * 3600
"""Seconds until the table deletes the lock."""


def write_variables(place: Place, output: Path | None) -> int:
    """JSON: {function: {variable: value}}, each under the logical id that `sam local invoke` takes. The exit code."""
    with on_stack(place) as stack:
        whole = replace(stack, name=place.stack)  # the application, which Once may be inside of
        functions = [each for each in whole.resources() if each["ResourceType"] == FUNCTION]
        names = {each["LogicalResourceId"]: each["PhysicalResourceId"] for each in reversed(functions)}
        found = {logical_id: _variables(stack, name) for logical_id, name in names.items()}
        if stack.endpoint_url is not None:
            tell(FROM_CONTAINERS)
        _put(output, found, f"the variables of {', '.join(sorted(found)) or 'no function'}")
        return 0


def write_event(place: Place, event: str, output: Path | None) -> int:
    """JSON: the event of a function for a request. The exit code."""
    request = read_event(event)
    with on_stack(place, where(event)) as stack:
        _put(output, function_event(stack, request), "the event of a function")
        return 0


def _variables(stack: Stack, name: str) -> dict[str, str]:
    told = stack.client("lambda").get_function_configuration(FunctionName=name).get("Environment", {})
    if refused := told.get("Error"):
        raise Problem(f"{name}: its variables cannot be read: {refused.get('Message')}; allow kms:Decrypt on their key")
    variables: dict[str, str] = told.get("Variables", {})
    if stack.endpoint_url is None:
        return variables  # on AWS each client knows its endpoint
    from oncekit.local.request_rules import HOST_OF_CONTAINERS  # in a container 127.0.0.1 is the container

    return {**variables, ENDPOINT: f"http://{HOST_OF_CONTAINERS}:{urlsplit(stack.endpoint_url).port}"}


def _put(output: Path | None, value: Any, what: str) -> None:
    """There may be secrets in it."""
    put(output, json.dumps(value, indent=2) + "\n", f"{what}.", is_secret=True)


def function_event(stack: Stack, text: str) -> Any:
    """What ExecuteBusinessLogic sends for a request; the lock in it is in the table then.

    The function of an operation in PayloadOnlyOperations gets the payload, and no lock. Raises Problem.
    """
    request = opened(json.loads(text))
    if id_of(request) is None or "payload" not in request:
        raise Problem("a request has an operation, an idempotencyKey and a payload")
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
