"""A function of the direct lane. Its own event says what to ask for; a payload, what each attempt does."""

from __future__ import annotations

import os
import time
from typing import Any

from once import JSON, NeedsAttention, Pending, PermanentError, Refused, Request, operation
from once.step import Step

ERRORS = {"PermanentError": PermanentError, "NeedsAttention": NeedsAttention, "Weather": OSError}


@operation(name="direct")
def charge(request: Request) -> JSON | Pending:
    script = request.payload.get("script", [])
    act = script[min(request.attempt, len(script)) - 1] if script else {}
    if act.get("die") == "before":
        os._exit(1)

    def write(step: Step) -> JSON:
        step.update(os.environ["STOCK_TABLE"], {"sku": request.idempotency_key}, "ADD sold :one", {":one": 1})
        return {"by": request.attempt}

    done = request.step("charge", write)
    if act.get("die") == "after":
        os._exit(1)
    if "raise" in act:
        raise ERRORS[act["raise"]](act.get("message", "no"))
    if "pending" in act:
        return request.pending(act["pending"])
    time.sleep(act.get("sleep", 0))
    return {"done": done, "text": "x" * act.get("size", 1)}


@charge.entry
def handler(event: dict[str, Any], context: object) -> Any:
    told = []
    for each in event["asked"]:
        try:
            outcome = charge.once(**each)
        except Refused as refused:
            told.append({"refused": refused.name, "http": refused.http()})
        else:
            failure = outcome.error and [outcome.error.name, outcome.error.message]
            told.append(
                {"disposition": outcome.disposition, "result": outcome.result, "error": failure, "http": outcome.http()}
            )
    return told
