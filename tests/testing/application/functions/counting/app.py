"""Says in a file how far each attempt came. Its two effects happen as often as they are made, and are counted."""

import json
import os
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from once import JSON, Request, operation
from once.clients import client

CHARGES = "https://api.provider.example/charges"


@operation()
def handler(request: Request) -> JSON:
    def tell(what: str) -> None:
        with Path(request.payload["told"]).open("a") as file:
            file.write(f"{request.attempt} {what}\n")

    def call(name: str, make: Callable[[], Any]) -> None:
        tell(f"makes the {name}")
        try:
            make()
        except Exception:
            tell(f"got no answer to the {name}")
            raise
        tell(f"has made the {name}")

    tell("begins")
    client("dynamodb").get_item(TableName=os.environ["NOTES_TABLE"], Key={"note": {"S": "count"}})
    call("update", count)
    call("charge", charge)
    tell("ends")
    return None


def count() -> None:
    client("dynamodb").update_item(
        TableName=os.environ["NOTES_TABLE"],
        Key={"note": {"S": "count"}},
        UpdateExpression="ADD updates :one",
        ExpressionAttributeValues={":one": {"N": "1"}},
    )


def charge() -> None:
    urllib.request.urlopen(CHARGES, json.dumps({"amount": 1}).encode()).read()
