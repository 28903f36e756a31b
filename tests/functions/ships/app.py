"""Ships an order in a step, and can then be told to fail: without a file `paid up` in LATCHES, it is not paid."""

from __future__ import annotations

import os
from pathlib import Path

from once import JSON, PermanentError, Request, operation
from once.step import Step


@operation()
def handler(request: Request) -> JSON:
    def ship(step: Step) -> JSON:
        step.update(os.environ["STOCK"], {"sku": request.payload["sku"]}, "ADD sold :one", {":one": 1})
        return f"shipped in attempt {request.attempt} under fence {request.lock.fence}"

    shipped = request.step("ship", ship)
    if not (Path(os.environ["LATCHES"]) / "paid up").exists():
        raise PermanentError("no money")
    return shipped
