"""Business logic whose work goes on elsewhere, as its payload says, attempt by attempt; and who does that work.

Each attempt leaves its ticket in LATCHES/tickets.
"""

from __future__ import annotations

import os
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import once
from once import JSON, Pending, Request, operation
from once.step import Step

LATCHES = Path(os.environ["LATCHES"])


def handler(event: dict[str, Any], context: object) -> Any:
    if "call" not in event:
        return begin(event, context)
    try:
        return asdict(getattr(once, event["call"])(*event["arguments"], **event["named"]))
    except once.OnceError as error:
        return {"error": type(error).__name__, "message": str(error)}


@operation()
def begin(request: Request) -> JSON | Pending:
    with (LATCHES / "tickets").open("a") as log:
        log.write(f"{request.ticket}\n")
    script = request.payload["script"]
    do = script[min(request.attempt, len(script)) - 1]
    if "await" in do:
        end = time.monotonic() + 20
        while not (LATCHES / do["await"]).exists() and time.monotonic() < end:
            time.sleep(0.005)
    if "step" in do:
        request.step(do["step"], lambda step: write(step, do["step"]))
    if "exit" in do:
        os._exit(do["exit"])
    return request.pending(do["pending"]) if "pending" in do else do["return"]


def write(step: Step, sku: str) -> JSON:
    step.update(os.environ["STOCK"], {"sku": sku}, "ADD sold :one", {":one": 1})
    return None
