"""Every effect as it should be, and values that are other ones in each run."""

import datetime
import json
import os
import urllib.request
import uuid

from once import JSON, Request, operation
from once.step import Step


@operation()
def handler(request: Request) -> JSON:
    order = request.provider_key("order")
    charge = charged(request)
    request.put_once(os.environ["NOTES_TABLE"], {"note": order, "attempt": request.attempt})
    request.apply_once(os.environ["STOCK_TABLE"], {"sku": "mug"}, "ADD sold :one", {":one": 1})

    def write(step: Step) -> JSON:
        now = datetime.datetime.now(datetime.UTC).isoformat()
        step.put(os.environ["ORDERS_TABLE"], {"orderId": order, "at": now, "number": str(uuid.uuid4())})
        return {"status": "placed", "charge": charge, "at": now}

    return request.step("place", write)


def charged(request: Request) -> JSON:
    url = request.payload.get("url", "https://api.provider.example/charges")
    asked = urllib.request.Request(url, json.dumps(request.payload).encode())
    asked.add_header("Idempotency-Key", request.provider_key("charge"))
    with urllib.request.urlopen(asked) as answer:
        return json.loads(answer.read())["id"]
