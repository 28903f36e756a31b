"""Takes the lock itself, for what a queue brings. Its payload says whether its effect is part of a step."""

import os
from typing import Any

from once import JSON, Refused, Request, operation
from once.clients import client
from once.step import Step


@operation()
def taking(request: Request) -> JSON:
    def count(step: Step) -> JSON:
        step.update(os.environ["NOTES_TABLE"], {"note": "count"}, "ADD updates :one", {":one": 1})
        return None

    if request.payload["careful"]:
        request.step("count", count)
    else:
        client("dynamodb").update_item(
            TableName=os.environ["NOTES_TABLE"],
            Key={"note": {"S": "count"}},
            UpdateExpression="ADD updates :one",
            ExpressionAttributeValues={":one": {"N": "1"}},
        )
    return {"text": "x" * request.payload.get("size", 1)}


@taking.entry
def handler(event: dict[str, Any], _context: object) -> Any:
    failures = []
    for message in event["Records"]:
        if message["key"] == "nobody":
            continue
        try:
            taking.once(message["body"], key=message["key"], **event.get("choices", {}))
        except Refused:
            failures.append({"itemIdentifier": message["key"]})
    return {"batchItemFailures": failures}
